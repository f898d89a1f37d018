"""Rules on the largest or smallest value of a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness import metrics
from harness.recorder import step
from harness.sla.evidence.bounded import of_this_run
from harness.sla.finding import Finding

if TYPE_CHECKING:
    from harness.sla.rule import Rule
    from harness.summary.snapshot import Snapshot


def find(rule: Rule, snapshot: Snapshot) -> Finding:
    """Evidence for or against a rule on ``min`` or ``max``."""
    assert rule.statistic is not None
    histogram = snapshot.histograms[rule.series(snapshot.loop)]
    units = histogram.maximum if rule.statistic.name == "max" else histogram.minimum
    value = units * step(metrics.metric(rule.metric).unit)
    return Finding(
        observed=value, n=histogram.n, decision=of_this_run(rule, value), detail=f"of {histogram.n}"
    )
