"""Rules on the mean of a metric: bounds of what was seen, with room for what was not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from harness.metrics import Unit
from harness.recorder import step
from harness.sla import means, tails
from harness.sla.dependence import INDEPENDENT, of_mean
from harness.sla.evidence.bounded import decide
from harness.sla.evidence.counted import known
from harness.sla.finding import Finding
from harness.sla.statistics import Decision, first

if TYPE_CHECKING:
    from harness.sla.dependence import Dependence
    from harness.sla.means import Bounds, Moments
    from harness.sla.rule import Rule
    from harness.summary.snapshot import Snapshot
    from reports.histogram import Histogram

_NEARLY_ENOUGH: Final = 8.0
"""Dependent samples worth as many have Student's bounds, if these are made wider by half."""
_WIDER: Final = 1.5


def find(rule: Rule, snapshot: Snapshot, confidence: float) -> Finding:
    """Evidence for or against a rule on a mean."""
    series, is_share = rule.series(snapshot.loop), rule.unit == Unit.SHARE
    histogram = snapshot.histograms[series]
    moments = _moments(histogram, step(rule.unit))
    samples = snapshot.due_order.samples(rule, series)
    dependence = INDEPENDENT if samples is None else of_mean(samples, moments.deviation**2)
    n, moments = histogram.n, moments._replace(bursts=dependence.skew)
    num_requests = n if samples is None else samples.sizes.size
    if is_share:
        bounds = _of_share(rule, moments, n, dependence, confidence)
    else:
        bounds = _of_times(moments, n, num_requests, dependence, confidence)
    decision, too_few = decide(rule, bounds), math.isinf(bounds[1]) and rule.limit >= moments.mean
    needed = _needed(rule, moments, dependence.worth(n), confidence)
    least = math.ceil(means.requests_to_see(confidence) * n / num_requests) if too_few else n
    return Finding(
        observed=moments.mean,
        n=n,
        dependence=dependence,
        low=None if math.isinf(bounds[0]) else bounds[0],
        high=None if math.isinf(bounds[1]) else bounds[1],
        decision=decision,
        needed=None if needed is None else max(least, dependence.needed(needed)),
        detail=_of_how_many(n, num_requests) + (_why_too_few(confidence) if too_few and not is_share else ""),
    )


def _moments(histogram: Histogram, scale: float) -> Moments:
    return means.Moments(
        mean=histogram.mean * scale,
        deviation=histogram.standard_deviation * scale,
        skewness=histogram.skewness,
        least=histogram.minimum * scale,
        most=histogram.maximum * scale,
    )


def _of_how_many(n: int, num_requests: int) -> str:
    return f"mean of {n}" if n == num_requests else f"mean of {n} from {num_requests} requests"


def _why_too_few(confidence: float) -> str:
    return f", where fewer than {means.requests_to_see(confidence)} may lack the largest tenth of all"


def _of_share(rule: Rule, moments: Moments, n: int, dependence: Dependence, confidence: float) -> Bounds:
    """Infinite on the side that samples which depend on each other say too little of."""
    low, high = known(rule, n, dependence, means.of_share(moments, dependence.worth(n), confidence))
    return -math.inf if low is None else low, math.inf if high is None else high


def _of_times(
    moments: Moments, n: int, num_requests: int, dependence: Dependence, confidence: float
) -> Bounds:
    worth = dependence.worth(n)
    bounds = means.skewed(moments, worth, confidence)
    if not dependence.can_hold(n):
        by_tail = tails.mean_bounds(moments.least, moments.mean, worth, confidence)
        bounds = _narrower(by_tail, bounds, moments.mean) if worth >= _NEARLY_ENOUGH else by_tail
    low, high = means.with_the_unseen(moments, worth, confidence, bounds)
    return low, high if num_requests >= means.requests_to_see(confidence) else math.inf


def _narrower(by_tail: Bounds, student: Bounds, mean: float) -> Bounds:
    """On either side the nearer bound: that of a tail, or Student's made wider."""
    low, high = (mean + _WIDER * (bound - mean) for bound in student)
    return max(by_tail[0], low), min(by_tail[1], high)


def _needed(rule: Rule, moments: Moments, worth: float, confidence: float) -> int | None:
    """How many independent samples would tell the mean from the limit if all went on as it is."""
    bounds = means.of_share if rule.unit == Unit.SHARE else means.of_times

    def decided(size: int) -> bool:
        return decide(rule, bounds(moments, size, confidence)) is not Decision.OPEN

    return first(decided, max(2, math.floor(worth)))
