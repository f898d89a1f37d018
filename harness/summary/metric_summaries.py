"""Histograms as numbers in the metrics' own units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from harness import metrics
from harness.recorder import step
from harness.series import Series
from reports.result import MetricSummary, Percentile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.sla.rule import Rule
    from harness.summary.snapshot import Snapshot
    from reports.histogram import Histogram

PERCENTILES: Final = (1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99, 100.0)
_NO_DUE_TIMES: Final = "closed loop: no intended times"


def metric_summaries(
    snapshot: Snapshot, rules: Iterable[Rule] = (), confidence: float = 0.95
) -> tuple[MetricSummary, ...]:
    """Every series of the run, with the usual percentiles and those that ``rules`` ask for."""
    asked = {rule.statistic.p for rule in rules if rule.statistic and rule.statistic.p is not None}
    ps = sorted(asked.union(PERCENTILES))
    return tuple(_summaries(snapshot, ps, confidence))


def _summaries(snapshot: Snapshot, ps: list[float], confidence: float) -> Iterator[MetricSummary]:
    for series, histogram in snapshot.histograms.items():
        yield _summary(series, histogram, snapshot, ps, confidence)
    lag = Series("schedule_lag")
    if lag not in snapshot.histograms:
        unit = metrics.metric(lag.metric).unit
        yield MetricSummary(name=lag.metric, basis=None, unit=unit, n=0, reason=_NO_DUE_TIMES)


def _summary(
    series: Series, histogram: Histogram, snapshot: Snapshot, ps: list[float], confidence: float
) -> MetricSummary:
    unit = metrics.metric(series.metric).unit
    if not histogram.n:
        reason = snapshot.reasons[series]
        return MetricSummary(name=series.metric, basis=series.basis, unit=unit, n=0, reason=reason)
    scale = step(unit)
    return MetricSummary(
        name=series.metric,
        basis=series.basis,
        unit=unit,
        n=histogram.n,
        minimum=histogram.minimum * scale,
        mean=histogram.mean * scale,
        maximum=histogram.maximum * scale,
        percentiles=tuple(percentile_of(histogram, p, scale, confidence) for p in ps),
        client_error_p99=snapshot.client_errors[series],
    )


def percentile_of(histogram: Histogram, p: float, scale: float, confidence: float) -> Percentile:
    """A percentile with its interval, times ``scale``; the maximum has none."""
    low, high = histogram.percentile_interval(p, confidence) if p < 100 else (None, None)
    return Percentile(
        p=p,
        value=histogram.percentile(p) * scale,
        low=None if low is None else low * scale,
        high=None if high is None else high * scale,
    )
