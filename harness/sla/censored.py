"""Requests that the end of the run cut off: their latencies are unknown, and were already long.

They are in no percentile. A rule that holds without them holds for the run only if it would hold with each of
them as a miss, so that a server which leaves its slowest users waiting can't pass by it.
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


def holds_with_the_cut(rule: Rule, snapshot: Snapshot, confidence: float, dependence: Dependence) -> bool:
    """Whether a rule that holds still does when every request that was cut counts as a miss.

    A mean can't be tested so: it stands while at most 5 % of the requests were cut.
    """
    if not snapshot.num_cut or rule.is_rate or rule.unit != "ns" or not rule.operator.is_ceiling:
        return True
    assert rule.statistic is not None
    if rule.statistic.name in ("min", "mean"):
        return snapshot.num_cut <= _MEAN_SHARE * (snapshot.num_cut + snapshot.num_succeeded)
    if rule.statistic.p is None:
        return False
    histogram = snapshot.histograms[rule.series(snapshot.loop)]
    misses = dependence.worth(count_beyond(rule, histogram) + snapshot.num_cut)
    worth = dependence.worth(histogram.n + snapshot.num_cut)
    return decide_share(misses, worth, 1 - rule.statistic.p / 100, confidence) is Decision.TRUE
