"""Rules on a number per second: as a Poisson number of events, by the scatter of batch means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.rates import REQUESTS_PER_SECOND
from harness.sla.batch_means import MIN_BATCHES, rate_bounds
from harness.sla.evidence.bounded import decide
from harness.sla.finding import Finding

if TYPE_CHECKING:
    from harness.sla.rule import Rule
    from harness.summary.snapshot import Snapshot
    from reports.result import Rate


def find(rule: Rule, rate: Rate, snapshot: Snapshot, confidence: float) -> Finding:
    """Evidence for or against a rule on ``rate``, which has a value."""
    value, counts = rate.value or 0.0, snapshot.counts[rule.metric]
    bounds = rate_bounds(counts, snapshot.slice_s, confidence, value, _of_one_request(rate, snapshot))
    return Finding(
        observed=value,
        n=round(rate.numerator or 0),
        low=bounds and bounds[0],
        high=bounds and bounds[1],
        decision=decide(rule, bounds),
        detail=f"{rate.numerator:g} in {rate.denominator:.4g} s"
        + ("" if bounds else f", too short for {MIN_BATCHES} batches of time"),
    )


def _of_one_request(rate: Rate, snapshot: Snapshot) -> float:
    """How much a request adds to the count."""
    if rate.unit == REQUESTS_PER_SECOND:
        return 1.0
    return max(1.0, (rate.numerator or 0) / max(1, snapshot.num_succeeded))
