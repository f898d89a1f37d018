"""What a run says about a rule, one file for each kind of rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.metrics import Unit
from harness.sla.evidence import extreme, mean, percentile, quality, rate, server, share, stalls
from harness.sla.finding import Finding

if TYPE_CHECKING:
    from harness.sla.rule import Rule
    from harness.summary.snapshot import Snapshot

__all__ = ["find"]


def find(rule: Rule, snapshot: Snapshot, confidence: float) -> Finding:
    """Evidence of a run for or against a rule.

    Args:
        rule: The rule.
        snapshot: The run.
        confidence: Of the decision and of each bound, 0.5 <= confidence < 1.
    """
    if rule.is_of_server:
        return server.find(rule, snapshot, confidence)
    if rule.is_of_quality:
        return quality.find(rule, snapshot, confidence)
    if rule.is_rate:
        return _of_rate(rule, snapshot, confidence)
    series = rule.series(snapshot.loop)
    if not snapshot.histograms[series].n:
        return Finding(observed=None, n=0, reason=snapshot.reasons[series] or "")
    assert rule.statistic is not None
    if rule.statistic.p is not None:
        return percentile.find(rule, rule.statistic.p, snapshot, confidence)
    if rule.statistic.name != "mean":
        return extreme.find(rule, snapshot)
    if rule.unit == Unit.STALLS:
        return stalls.find(rule, snapshot, confidence)
    return mean.find(rule, snapshot, confidence)


def _of_rate(rule: Rule, snapshot: Snapshot, confidence: float) -> Finding:
    found = snapshot.rates[rule.metric]
    if found.value is None:
        return Finding(observed=None, n=0, reason=found.reason or "")
    if found.unit == "share":
        return share.find(rule, found, snapshot, confidence)
    return rate.find(rule, found, snapshot, confidence)
