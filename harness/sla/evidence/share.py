"""Rules on a share of the requests: the exact binomial rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.sla.dependence import INDEPENDENT, of_share
from harness.sla.evidence.bounded import of_this_run
from harness.sla.evidence.counted import decide, known, needed
from harness.sla.finding import Finding
from harness.sla.statistics import share_bounds

if TYPE_CHECKING:
    from harness.sla.rule import Rule
    from harness.summary.snapshot import Snapshot
    from reports.result import Rate


def find(rule: Rule, rate: Rate, snapshot: Snapshot, confidence: float) -> Finding:
    """Evidence for or against a rule on the share ``rate``, which has a value."""
    count, n, value = round(rate.numerator or 0), round(rate.denominator or 0), rate.value or 0.0
    beyond, allowed = (count, rule.limit) if rule.operator.is_ceiling else (n - count, 1 - rule.limit)
    if allowed == 0:
        return Finding(observed=value, n=n, decision=of_this_run(rule, value), detail=f"{count} of {n}")
    samples = snapshot.due_order.samples(rule, None)
    dependence = INDEPENDENT if samples is None else of_share(samples, 1.0)
    bounds = share_bounds(dependence.worth(count), dependence.worth(n), confidence)
    low, high = known(rule, n, dependence, bounds)
    return Finding(
        observed=value,
        n=n,
        dependence=dependence,
        low=low,
        high=high,
        decision=decide(beyond, n, allowed, confidence, dependence),
        needed=needed(beyond, n, allowed, confidence, dependence),
        detail=f"{count} of {n}",
    )
