"""The numbers of a simulated run, as its result shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from support.simulated_run import Run, histogram

from reports.curves import curve
from reports.result import MetricSummary, Percentile, RequestRow, TimePoint

if TYPE_CHECKING:
    import numpy as np

    from reports.histogram import Histogram
    from reports.result import Curve

PERCENTILES: Final = (50.0, 90.0, 95.0, 99.0, 99.9)
_FAILURES: Final = (
    ("timeout", "first_token", "no token within 10 s of sending"),
    ("rejected", "429", '{"error":{"message":"queue full","type":"overloaded"}}'),
)


def curves(run: Run) -> tuple[Curve, ...]:
    ok = ~run.failed
    return tuple(
        curve(histogram(values), name, basis, "ns", 1e3)
        for name, basis, values in (
            ("ttft", "response", run.ttft[ok]),
            ("ttft", "service", (run.ttft - run.lag)[ok]),
            ("itl", None, run.itl),
            ("tpot", None, run.tpot[ok]),
            ("e2e", "response", run.e2e[ok]),
        )
    )


def metrics(run: Run) -> tuple[MetricSummary, ...]:
    ok = ~run.failed
    return (
        summary("ttft", "response", run.ttft[ok], 310_000),
        summary("ttft", "service", (run.ttft - run.lag)[ok], 180_000),
        summary("itl", None, run.itl, 180_000),
        summary("tpot", None, run.tpot[ok], 90_000),
        summary("e2e", "response", run.e2e[ok], 310_000),
        summary("e2e", "service", (run.e2e - run.lag)[ok], 180_000),
        summary("schedule_lag", None, run.lag, None),
        MetricSummary(
            name="ttfa",
            basis="response",
            unit="ns",
            n=0,
            reason="no reasoning tokens were seen, so ttfa equals ttft",
        ),
    )


def time_points(run: Run, slices: int) -> tuple[TimePoint, ...]:
    length = run.duration_s / slices
    return tuple(_time_point(run, i * length, length) for i in range(slices))


def _time_point(run: Run, start: float, length: float) -> TimePoint:
    end_s = run.start_s + run.e2e / 1e9
    here = (run.start_s >= start) & (run.start_s < start + length)
    ended = (end_s >= start) & (end_s < start + length)
    gaps = run.itl[(run.itl_start_s >= start) & (run.itl_start_s < start + length)]
    return TimePoint(
        start_s=start,
        length_s=length,
        in_flight=int(((run.start_s < start + length) & (end_s > start)).sum()),
        sent=int(here.sum()),
        completed=int((ended & ~run.failed).sum()),
        failed=int((here & run.failed).sum()),
        output_tokens=int(run.tokens[ended].sum()),
        ttft=percentiles(histogram(run.ttft[here & ~run.failed]), (50.0, 90.0, 99.0), False),
        itl=percentiles(histogram(gaps), (50.0, 90.0, 99.0), False),
        tpot=percentiles(histogram(run.tpot[ended & ~run.failed]), (50.0, 90.0, 99.0), False),
    )


def rows(run: Run, limit: int = 2_000) -> tuple[RequestRow, ...]:
    return tuple(_row(run, i) for i in range(min(run.num, limit)))


def _row(run: Run, i: int) -> RequestRow:
    row = RequestRow(
        index=i,
        start_s=float(run.start_s[i]),
        outcome="ok",
        measured=bool(run.start_s[i] > run.duration_s * 0.08),
        e2e=int(run.e2e[i]),
        schedule_lag=int(run.lag[i]),
    )
    if run.failed[i]:
        outcome, detail, message = _FAILURES[i % 2]
        return msgspec.structs.replace(row, outcome=outcome, detail=detail, message=message)
    return msgspec.structs.replace(
        row,
        prompt_tokens=int(run.prompt_tokens[i]),
        output_tokens=int(run.tokens[i]),
        ttft=int(run.ttft[i]),
        tpot=float(run.tpot[i]),
    )


def summary(name: str, basis: str | None, values_ns: np.ndarray, error: float | None) -> MetricSummary:
    hist = histogram(values_ns)
    return MetricSummary(
        name=name,
        basis=basis,
        unit="ns",
        n=hist.n,
        minimum=hist.minimum * 1e3,
        mean=hist.mean * 1e3,
        maximum=hist.maximum * 1e3,
        percentiles=percentiles(hist, PERCENTILES),
        client_error_p99=error,
    )


def percentiles(hist: Histogram, ps: tuple[float, ...], interval: bool = True) -> tuple[Percentile, ...]:
    return tuple(_percentile(hist, p, interval) for p in ps) if hist.n else ()


def _percentile(hist: Histogram, p: float, interval: bool) -> Percentile:
    low, high = hist.percentile_interval(p) if interval else (None, None)
    return Percentile(p=p, value=hist.percentile(p) * 1e3, low=ns(low), high=ns(high))


def ns(microseconds: int | None) -> float | None:
    return None if microseconds is None else microseconds * 1e3
