"""The data of the knee plot, a row for each probe, in order of load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reports.rows_csv import LATENCY_COLUMNS, csv_text, latency_cells

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reports.capacity.search import Capacity, Probe

HEADER: Final = (
    *("load", "number", "length", "verdict", "saturated", "n", "answered_per_s", "goodput_per_s"),
    *("attainment", "error_rate", "output_tokens_per_s"),
    *LATENCY_COLUMNS,
)


def render(capacity: Capacity) -> str:
    """With a header; an unknown value is empty."""
    probes = sorted(capacity.probes, key=lambda each: (each.load, each.number))
    return csv_text(HEADER, map(_row, probes))


def _row(probe: Probe) -> Iterator[object]:
    yield from (f"{probe.load:.6g}", probe.number, f"{probe.length:.6g}", probe.verdict.value)
    yield from (str(probe.saturated).lower(), probe.num_requests, probe.achieved, probe.goodput)
    yield from (probe.attainment, probe.error_rate, probe.output_token_rate)
    yield from latency_cells(probe)
