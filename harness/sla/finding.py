"""What a run says about one rule, by the kind of the rule."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import msgspec

from harness import metrics
from harness.recorder import step
from harness.sla.dependence import INDEPENDENT, Dependence, of_mean, of_share
from harness.sla.statistics import (
    MIN_BATCHES,
    Decision,
    decide_share,
    deciding_counts,
    mean_bounds,
    rate_bounds,
    samples_needed,
    samples_needed_for_mean,
    share_bounds,
)

if TYPE_CHECKING:
    from harness.sla.rule import Rule
    from harness.summary.snapshot import Snapshot
    from reports.histogram import Histogram
    from reports.result import Rate

_FAR: Final = 2
_VERY_FAR: Final = 3


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Evidence for or against a rule.

    Attributes:
        observed: In the rule's unit; None without samples.
        n: Number of samples behind it.
        dependence: How much less they say than independent ones would; None where it makes no difference.
        low: Bound from below at the stated confidence; None where there is none.
        high: Bound from above, likewise.
        decision: TRUE where the rule holds, FALSE where it is violated.
        needed: Samples in all that would decide if all went on like this; None where unknown.
        detail: What was counted, for the message.
        reason: Why there is no sample.
    """

    observed: float | None
    n: int
    dependence: Dependence | None = None
    low: float | None = None
    high: float | None = None
    decision: Decision = Decision.OPEN
    needed: int | None = None
    detail: str = ""
    reason: str = ""

    @property
    def n_eff(self) -> float | None:
        """The number of independent samples that would say as much; None where it makes no difference."""
        return None if self.dependence is None else self.dependence.worth(self.n)


def find(rule: Rule, snapshot: Snapshot, confidence: float) -> Finding:
    """Evidence of a run for or against a rule.

    Args:
        rule: The rule.
        snapshot: The run.
        confidence: Of the decision and of each bound, 0.5 <= confidence < 1.
    """
    if rule.is_rate:
        return _of_rate(rule, snapshot, confidence)
    series = rule.series(snapshot.loop)
    histogram = snapshot.histograms[series]
    if not histogram.n:
        return Finding(observed=None, n=0, reason=snapshot.reasons[series] or "")
    assert rule.statistic is not None
    if rule.statistic.p is not None:
        return _of_percentile(rule, rule.statistic.p, snapshot, confidence)
    return (
        _of_mean(rule, snapshot, confidence)
        if rule.statistic.name == "mean"
        else _of_extreme(rule, histogram)
    )


def _of_percentile(rule: Rule, p: float, snapshot: Snapshot, confidence: float) -> Finding:
    """MLPerf's rule: the share of values beyond the limit against the share that may be."""
    series = rule.series(snapshot.loop)
    histogram, scale = snapshot.histograms[series], step(metrics.metric(rule.metric).unit)
    samples = snapshot.due_order.samples(rule, series)
    dependence = INDEPENDENT if samples is None else of_share(samples, _variance(histogram, scale))
    if _is_far(rule, histogram, _FAR if dependence.is_enough(histogram.n) else _VERY_FAR):
        dependence = INDEPENDENT
    beyond = count_beyond(rule, histogram)
    allowed = 1 - p / 100 if rule.operator.is_ceiling else p / 100
    low, high = _percentile_bounds(histogram, p, dependence, confidence)
    side = "over" if rule.operator.is_ceiling else "under"
    return Finding(
        observed=histogram.percentile(p) * scale,
        n=histogram.n,
        dependence=dependence,
        low=None if low is None else low * scale,
        high=None if high is None else high * scale,
        decision=_decide_share(beyond, histogram.n, allowed, confidence, dependence),
        needed=_needed_for_share(beyond, histogram.n, allowed, confidence, dependence),
        detail=f"{beyond} of {histogram.n} {side} the limit",
    )


def _is_far(rule: Rule, histogram: Histogram, times: int) -> bool:
    """True where the limit is so many times every value at the least, or every value so many times the limit.

    How values go up and down together says nothing of a limit that none of them comes near.
    """
    limit = rule.limit / step(metrics.metric(rule.metric).unit)
    return histogram.maximum * times <= limit or histogram.minimum >= limit * times


def _percentile_bounds(
    histogram: Histogram, p: float, dependence: Dependence, confidence: float
) -> tuple[int | None, int | None]:
    """Order statistics (David and Nagaraja, 7.1): the limits between which no rule on it is decided."""
    n = histogram.n
    if not dependence.is_enough(n):
        return None, None
    few, many = deciding_counts(n, 1 - p / 100, confidence, dependence.effect)
    low = None if many > n else histogram.value_at_rank(n - many + 1)
    return low, None if few < 0 else histogram.value_at_rank(n - few)


def _variance(histogram: Histogram, scale: float) -> float:
    return (histogram.standard_deviation * scale) ** 2


def _decide_share(count: int, n: int, share: float, confidence: float, dependence: Dependence) -> Decision:
    if not dependence.is_enough(n):
        return Decision.OPEN
    return decide_share(dependence.worth(count), dependence.worth(n), share, confidence)


def _needed_for_share(
    count: int, n: int, share: float, confidence: float, dependence: Dependence
) -> int | None:
    needed = samples_needed(dependence.worth(count), dependence.worth(n), share, confidence)
    return None if needed is None else max(n, dependence.needed(needed))


def count_beyond(rule: Rule, histogram: Histogram) -> int:
    """Number of values that miss the limit of a metric's rule, as the histogram's percentiles see them."""
    limit = round(rule.limit / step(metrics.metric(rule.metric).unit), 9)
    up_to = math.ceil(limit) - 1 if rule.operator.strict == rule.operator.is_ceiling else math.floor(limit)
    over = histogram.count_over(up_to)
    return over if rule.operator.is_ceiling else histogram.n - over


def _of_mean(rule: Rule, snapshot: Snapshot, confidence: float) -> Finding:
    series = rule.series(snapshot.loop)
    histogram, scale = snapshot.histograms[series], step(metrics.metric(rule.metric).unit)
    samples = snapshot.due_order.samples(rule, series)
    dependence = INDEPENDENT if samples is None else of_mean(samples, _variance(histogram, scale))
    n, mean = histogram.n, histogram.mean * scale
    deviation = histogram.standard_deviation * scale * math.sqrt(n / max(1, n - 1))
    worth, skewness = dependence.worth(n), histogram.skewness * dependence.skew
    bounds = None
    if dependence.is_enough(n):
        bounds = mean_bounds(mean, deviation, worth, confidence, skewness)
    needed = samples_needed_for_mean(mean, deviation, worth, rule.limit, confidence, skewness)
    return Finding(
        observed=mean,
        n=n,
        dependence=dependence,
        low=bounds and bounds[0],
        high=bounds and bounds[1],
        decision=_by_bounds(rule, bounds),
        needed=None if needed is None else max(n, dependence.needed(needed)),
        detail=f"mean of {n}",
    )


def _of_extreme(rule: Rule, histogram: Histogram) -> Finding:
    """The largest or smallest value speaks of this run alone, so it needs no confidence."""
    assert rule.statistic is not None
    units = histogram.maximum if rule.statistic.name == "max" else histogram.minimum
    value = units * step(metrics.metric(rule.metric).unit)
    return Finding(
        observed=value, n=histogram.n, decision=_of_this_run(rule, value), detail=f"of {histogram.n}"
    )


def _of_rate(rule: Rule, snapshot: Snapshot, confidence: float) -> Finding:
    rate = snapshot.rates[rule.metric]
    if rate.value is None:
        return Finding(observed=None, n=0, reason=rate.reason or "")
    if rate.unit == "share":
        return _of_share(rule, rate, snapshot, confidence)
    bounds = rate_bounds(snapshot.counts[rule.metric], snapshot.slice_s, confidence, rate.value)
    return Finding(
        observed=rate.value,
        n=round(rate.numerator or 0),
        low=bounds and bounds[0],
        high=bounds and bounds[1],
        decision=_by_bounds(rule, bounds),
        detail=f"{rate.numerator:g} in {rate.denominator:.4g} s"
        + ("" if bounds else f", too short for {MIN_BATCHES} batches of time"),
    )


def _of_share(rule: Rule, rate: Rate, snapshot: Snapshot, confidence: float) -> Finding:
    count, n, value = round(rate.numerator or 0), round(rate.denominator or 0), rate.value or 0.0
    beyond, allowed = (count, rule.limit) if rule.operator.is_ceiling else (n - count, 1 - rule.limit)
    if allowed == 0:
        return Finding(observed=value, n=n, decision=_of_this_run(rule, value), detail=f"{count} of {n}")
    samples = snapshot.due_order.samples(rule, None)
    dependence = INDEPENDENT if samples is None else of_share(samples, 1.0)
    enough = dependence.is_enough(n)
    low, high = share_bounds(dependence.worth(count), dependence.worth(n), confidence)
    return Finding(
        observed=value,
        n=n,
        dependence=dependence,
        low=low if enough else None,
        high=high if enough else None,
        decision=_decide_share(beyond, n, allowed, confidence, dependence),
        needed=_needed_for_share(beyond, n, allowed, confidence, dependence),
        detail=f"{count} of {n}",
    )


def _of_this_run(rule: Rule, value: float) -> Decision:
    return Decision.TRUE if rule.holds(value) else Decision.FALSE


def _by_bounds(rule: Rule, bounds: tuple[float, float] | None) -> Decision:
    if bounds is None:
        return Decision.OPEN
    worst, best = (bounds[1], bounds[0]) if rule.operator.is_ceiling else bounds
    if rule.holds(worst):
        return Decision.TRUE
    return Decision.OPEN if rule.holds(best) else Decision.FALSE
