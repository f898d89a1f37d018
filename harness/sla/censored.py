"""Requests that the end of the run cut off: their latencies are unknown, and they are in no percentile.

A run that came to its end gave them its grace period: they were already long. A rule that holds without them
holds for the run only if it would hold with each of them as a miss, so that a server which leaves its slowest
users waiting can't pass by it. A run that was interrupted gave them no time. Of these only such as had waited
for longer than the rule's limit are known to miss it; the others say nothing, as if they had not been sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from harness.sla.evidence.percentile import count_beyond
from harness.sla.statistics import Decision, decide_share

if TYPE_CHECKING:
    from harness.sla.dependence import Dependence
    from harness.sla.rule import Rule
    from harness.summary.snapshot import Snapshot

_MEAN_SHARE: Final = 0.05


def num_missing(rule: Rule, snapshot: Snapshot, *, interrupted: bool) -> int:
    """How many of the requests that were cut must be taken for misses of the rule."""
    if rule.is_rate or rule.unit != "ns" or not rule.operator.is_ceiling:
        return 0
    if not interrupted:
        return snapshot.num_cut
    return sum(not rule.holds(wait_ns) for wait_ns in snapshot.cut_waits_ns)


def holds_with_the_missing(
    rule: Rule, snapshot: Snapshot, num: int, confidence: float, dependence: Dependence
) -> bool:
    """Whether a rule that holds still does with so many misses more.

    A mean can't be tested so: it stands while they are at most 5 % of the requests.
    """
    if not num:
        return True
    assert rule.statistic is not None
    if rule.statistic.name in ("min", "mean"):
        return num <= _MEAN_SHARE * (num + snapshot.num_succeeded)
    if rule.statistic.p is None:
        return False
    histogram = snapshot.histograms[rule.series(snapshot.loop)]
    misses = dependence.worth(count_beyond(rule, histogram) + num)
    worth = dependence.worth(histogram.n + num)
    return decide_share(misses, worth, 1 - rule.statistic.p / 100, confidence) is Decision.TRUE
