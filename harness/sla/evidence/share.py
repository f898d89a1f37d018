"""Rules on a share of the requests: the exact binomial rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.sla import spells
from harness.sla.dependence import INDEPENDENT, of_share
from harness.sla.evidence.bounded import of_this_run
from harness.sla.evidence.counted import decide, known, may_miss, needed
from harness.sla.finding import Finding
from harness.sla.statistics import Decision, share_bounds

if TYPE_CHECKING:
    from harness.sla.dependence import Dependence
    from harness.sla.rule import Rule
    from harness.summary.snapshot import Snapshot
    from reports.result import Rate


def find(rule: Rule, rate: Rate, snapshot: Snapshot, confidence: float) -> Finding:
    """Evidence for or against a rule on the share ``rate``, which has a value."""
    count, n, value = round(rate.numerator or 0), round(rate.denominator or 0), rate.value or 0.0
    beyond, allowed = count if rule.operator.is_ceiling else n - count, may_miss(rule) or 0.0
    if allowed == 0:
        return Finding(observed=value, n=n, decision=of_this_run(rule, value), detail=f"{count} of {n}")
    samples = snapshot.due_order.samples(rule, None)
    dependence = INDEPENDENT if samples is None else of_share(samples, 1.0)
    decision = decide(beyond, n, allowed, confidence, dependence)

    def decided(count: float, size: int, expected: Dependence) -> Decision:
        return decide(count, size, allowed, confidence, expected)

    low, high = _bounds(rule, count, n, dependence, confidence)
    return Finding(
        observed=value,
        n=n,
        dependence=dependence,
        low=low,
        high=high,
        decision=decision,
        needed=needed(beyond, n, dependence, decided) if decision is Decision.OPEN else None,
        detail=f"{count} of {n}",
    )


def _bounds(
    rule: Rule, count: int, n: int, dependence: Dependence, confidence: float
) -> tuple[float | None, float | None]:
    """Clopper and Pearson's; but no less misses than what holds in whatever order they came."""
    bounds = share_bounds(dependence.worth(count), dependence.worth(n), confidence)
    low, high = known(rule, n, dependence, bounds)
    independent = share_bounds(count, n, confidence)
    if rule.operator.is_ceiling:
        return max(low or 0.0, min(independent[0], spells.least_share(count, n, confidence))), high
    most = 1 - spells.least_share(n - count, n, confidence)
    return low, min(1.0 if high is None else high, max(independent[1], most))
