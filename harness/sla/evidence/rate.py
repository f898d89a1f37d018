"""Rules on a number per second: batch means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.sla.evidence.bounded import decide
from harness.sla.finding import Finding
from harness.sla.statistics import MIN_BATCHES, rate_bounds

if TYPE_CHECKING:
    from harness.sla.rule import Rule
    from harness.summary.snapshot import Snapshot
    from reports.result import Rate


def find(rule: Rule, rate: Rate, snapshot: Snapshot, confidence: float) -> Finding:
    """Evidence for or against a rule on ``rate``, which has a value."""
    value = rate.value or 0.0
    bounds = rate_bounds(snapshot.counts[rule.metric], snapshot.slice_s, confidence, value)
    return Finding(
        observed=value,
        n=round(rate.numerator or 0),
        low=bounds and bounds[0],
        high=bounds and bounds[1],
        decision=decide(rule, bounds),
        detail=f"{rate.numerator:g} in {rate.denominator:.4g} s"
        + ("" if bounds else f", too short for {MIN_BATCHES} batches of time"),
    )
