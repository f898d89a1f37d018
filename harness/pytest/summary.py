"""The table of all objectives of a session: on the terminal, and in a file for people or programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from harness.pytest.settings import value_of
from harness.pytest.table import HEADS, grid

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import pytest

    Rows = list[dict[str, Any]]


def rows_of(reporter: pytest.TerminalReporter, cut: Iterable[dict[str, Any]] = ()) -> Rows:
    """What was judged, test by test; what reports of subtests repeat is there once.

    Args:
        reporter: Has the reports of the session.
        cut: Notes of tests that the session's end cut off, which have no report.
    """
    reports = [report for kind in reporter.stats.values() for report in kind]
    rows = [row for report in reports for row in getattr(report, "sla_rows", ())]
    rows += [row for note in cut for row in note["rows"]]
    once = {(row["test"], row["result"], row["objective"]): row for row in rows}
    places = {test: place for place, test in enumerate(dict.fromkeys(row["test"] for row in rows))}
    return sorted(once.values(), key=lambda row: places[row["test"]])


def write(reporter: pytest.TerminalReporter, rows: Rows, notes: Iterable[str] = ()) -> None:
    """The section "SLA": the table, then what else is to be known."""
    reporter.section("SLA")
    if scale := value_of(reporter.config, "scale"):
        reporter.write_line(f"every load {scale} times as long as its test says (--sla-scale)")
    if rows:
        _write_table(reporter, rows)
    for note in notes:
        reporter.write_line(note)


def _write_table(reporter: pytest.TerminalReporter, rows: Rows) -> None:
    heads, *lines = grid(row["cells"] for row in rows)
    reporter.write_line(heads)
    test = None
    for row, line in zip(rows, lines, strict=True):
        if row["test"] != test:
            test = row["test"]
            reporter.write_line(test)
        reporter.write_line(line)


def save(path: Path, rows: Rows) -> None:
    """The table as JSON, or as Markdown.

    Raises:
        OSError: It can't be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    text = _json(rows) if path.suffix == ".json" else _markdown(rows)
    path.write_text(text, encoding="utf-8")


def _json(rows: Rows) -> str:
    told = [{key: value for key, value in row.items() if key != "cells"} for row in rows]
    return json.dumps({"objectives": told}, indent=2) + "\n"


def _markdown(rows: Rows) -> str:
    heads = ("test", *HEADS)
    lines = (heads, ("---",) * len(heads), *((f"`{row['test']}`", *row["cells"]) for row in rows))
    return "".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |\n" for line in lines)
