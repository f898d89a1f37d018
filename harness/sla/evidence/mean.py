"""Rules on the mean of a metric: Student's bounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, TypeAlias

from harness import metrics
from harness.recorder import step
from harness.sla import tails
from harness.sla.dependence import INDEPENDENT, of_mean
from harness.sla.evidence.bounded import decide
from harness.sla.finding import Finding
from harness.sla.statistics import mean_bounds, samples_needed_for_mean

if TYPE_CHECKING:
    from harness.sla.rule import Rule
    from harness.summary.snapshot import Snapshot


Bounds: TypeAlias = tuple[float, float]

_NEARLY_ENOUGH: Final = 8.0
"""Dependent samples worth as many have Student's bounds, if these are made wider by half."""
_WIDER: Final = 1.5


def find(rule: Rule, snapshot: Snapshot, confidence: float) -> Finding:
    """Evidence for or against a rule on a mean."""
    series = rule.series(snapshot.loop)
    histogram, scale = snapshot.histograms[series], step(metrics.metric(rule.metric).unit)
    samples = snapshot.due_order.samples(rule, series)
    spread = histogram.standard_deviation * scale
    dependence = INDEPENDENT if samples is None else of_mean(samples, spread**2)
    n, mean = histogram.n, histogram.mean * scale
    deviation = spread * math.sqrt(n / max(1, n - 1))
    worth, skewness = dependence.worth(n), histogram.skewness * dependence.skew
    bounds = mean_bounds(mean, deviation, worth, confidence, skewness)
    if not dependence.can_hold(n):
        by_tail = tails.mean_bounds(histogram.minimum * scale, mean, worth, confidence)
        bounds = _narrower(by_tail, bounds, mean) if bounds and worth >= _NEARLY_ENOUGH else by_tail
    needed = samples_needed_for_mean(mean, deviation, worth, rule.limit, confidence, skewness)
    return Finding(
        observed=mean,
        n=n,
        dependence=dependence,
        low=bounds and bounds[0],
        high=bounds and bounds[1],
        decision=decide(rule, bounds),
        needed=None if needed is None else max(n, dependence.needed(needed)),
        detail=f"mean of {n}",
    )


def _narrower(by_tail: Bounds, student: Bounds, mean: float) -> Bounds:
    """On either side the nearer bound: that of a tail, or Student's made wider."""
    low, high = (mean + _WIDER * (bound - mean) for bound in student)
    return max(by_tail[0], low), min(by_tail[1], high)
