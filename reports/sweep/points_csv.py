"""A sweep as CSV: a row for each point, its keys first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reports.rows_csv import LATENCY_COLUMNS, csv_text, latency_cells

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reports.sweep.table import Point, Sweep

_COLUMNS: Final = (
    *("verdict", "requests", "duration_s", "answered_per_s", "goodput_per_s", "attainment", "error_rate"),
    *("output_tokens_per_s", *LATENCY_COLUMNS, "folder"),
)


def render(sweep: Sweep) -> str:
    """With a header; an unknown value is empty."""
    keys = [axis.key for axis in sweep.axes]
    rows = ([*(point.values[key] for key in keys), *_row(point)] for point in sweep.points)
    return csv_text([*keys, *_COLUMNS], rows)


def _row(point: Point) -> Iterator[object]:
    yield from ("" if point.verdict is None else point.verdict.value, point.num_requests, point.duration_s)
    yield from (point.achieved, point.goodput, point.attainment, point.error_rate, point.output_token_rate)
    yield from latency_cells(point)
    yield point.folder
