"""Figures as a table on the terminal, and in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.cells import Figures

_ERRORS = ("ttft p50 error", "ttft p99 error", "gap p50 error", "gap p99 error")
_EACH = ("each ttft p50", "each ttft p99", "each |gap| p99")
_COST = ("chunks/s", "streams seen", "cpu us/chunk", "cpu s before and after", "peak MB")
COLUMNS = {
    "accuracy": (*_ERRORS, *_EACH, *_COST, "server late max", "requests ok"),
    "ceiling": (*_COST, "requests ok"),
    "memory": ("peak MB", "chunks/s", "wall s", "cpu s", "requests ok"),
    "growth": ("further chunks/s", "cpu us/further chunk", "MB/million chunks"),
    "open": (
        "arrivals/s",
        "arrival times p",
        "arrival gaps p",
        "plan times p",
        "plan gaps p",
        "off plan p99",
        "off plan max",
        "schedule lag p99",
        *_ERRORS,
        *_EACH,
        "requests ok",
    ),
}
_MANY = 1000


def print_table(kind: str, rows: Mapping[str, Figures]) -> None:
    """A line for each client."""
    if rows:
        print(markdown(kind, rows), flush=True)


def markdown(kind: str, rows: Mapping[str, Figures]) -> str:
    """The table of a cell."""
    columns = [name for name in COLUMNS[kind] if any(name in row for row in rows.values())]
    lines = [["client", *columns]] + [
        [client, *(_written(row.get(name)) for name in columns)] for client, row in rows.items()
    ]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns) + 1)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "| " + " | ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) + " |"
        for line in lines
    )


def _written(value: float | None) -> str:
    if value is None:
        return "-"
    if value == round(value) or abs(value) >= _MANY:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"
