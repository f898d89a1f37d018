"""Rules on the mean of what is rare: Student's bounds know nothing of what was too rare to come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from harness.sla.dependence import INDEPENDENT
from harness.sla.evidence import mean
from harness.sla.evidence.bounded import decide
from harness.sla.statistics import samples_needed, share_bounds

if TYPE_CHECKING:
    from harness.sla.finding import Finding
    from harness.sla.rule import Rule
    from harness.summary.snapshot import Snapshot


def find(rule: Rule, snapshot: Snapshot, confidence: float) -> Finding:
    """Evidence for or against a rule on the mean of whole numbers that mostly are 0.

    The bound from above is no lower than the exact one of the share of requests that have any, times the
    mean number of those (1 where none has): so that ten requests without a stall don't prove that there are
    none.
    """
    found = mean.find(rule, snapshot, confidence)
    if found.low is None or found.high is None:
        return found
    histogram, dependence = snapshot.histograms[rule.series(snapshot.loop)], found.dependence or INDEPENDENT
    some = histogram.count_over(0)
    each = histogram.mean * histogram.n / some if some else 1.0
    count, n = dependence.worth(some), dependence.worth(histogram.n)
    high = max(found.high, each * share_bounds(count, n, confidence)[1])
    needed, share = found.needed, rule.limit / each
    if needed is not None and 0 < share < 1:
        by_share = samples_needed(count, n, share, confidence)
        needed = None if by_share is None else max(needed, dependence.needed(by_share))
    return structs.replace(found, high=high, decision=decide(rule, (found.low, high)), needed=needed)
