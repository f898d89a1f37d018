"""A sweep as CSV: a row for each point, its keys first."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reports.sweep.table import Point, Sweep

_TIMES = ("ttft", "tpot", "e2e")
_PERCENTILES = ("p50", "p95", "p99")
_COLUMNS = (
    *("verdict", "requests", "duration_s", "answered_per_s", "goodput_per_s", "attainment", "error_rate"),
    *("output_tokens_per_s", *(f"{name}_{p}_ns" for name in _TIMES for p in _PERCENTILES), "folder"),
)


def render(sweep: Sweep) -> str:
    """With a header; an unknown value is empty."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    keys = [axis.key for axis in sweep.axes]
    writer.writerow([*keys, *_COLUMNS])
    for point in sweep.points:
        writer.writerow([*(point.values[key] for key in keys), *_row(point)])
    return file.getvalue()


def _row(point: Point) -> Iterator[object]:
    yield from ("" if point.verdict is None else point.verdict.value, point.num_requests, point.duration_s)
    yield from (point.achieved, point.goodput, point.attainment, point.error_rate, point.output_token_rate)
    for name in _TIMES:
        latency = point.latency(name)
        yield from (None if latency is None else getattr(latency, p) for p in _PERCENTILES)
    yield point.folder
