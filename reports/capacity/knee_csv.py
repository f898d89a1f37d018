"""The data of the knee plot, a row for each probe, in order of load."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reports.capacity.search import Capacity, Probe

_TIMES = ("ttft", "tpot", "e2e")
_PERCENTILES = ("p50", "p95", "p99")
HEADER = (
    *("load", "number", "length", "verdict", "saturated", "n", "answered_per_s", "goodput_per_s"),
    *("attainment", "error_rate", "output_tokens_per_s"),
    *(f"{name}_{p}_ns" for name in _TIMES for p in _PERCENTILES),
)


def render(capacity: Capacity) -> str:
    """With a header; an unknown value is empty."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(HEADER)
    for probe in sorted(capacity.probes, key=lambda each: (each.load, each.number)):
        writer.writerow(_row(probe))
    return file.getvalue()


def _row(probe: Probe) -> Iterator[object]:
    yield from (f"{probe.load:.6g}", probe.number, f"{probe.length:.6g}", probe.verdict.value)
    yield from (str(probe.saturated).lower(), probe.num_requests, probe.achieved, probe.goodput)
    yield from (probe.attainment, probe.error_rate, probe.output_token_rate)
    for name in _TIMES:
        latency = probe.latency(name)
        yield from (None if latency is None else getattr(latency, p) for p in _PERCENTILES)
