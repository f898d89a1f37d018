"""Rules on what the server says of itself: each look at it is a sample, and neighbours are much alike."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from harness.recorder import step
from harness.server_figures import SERVER_FIGURES
from harness.sla.evidence import mean, percentile
from harness.sla.evidence.bounded import of_this_run
from harness.sla.finding import Finding
from harness.summary.due_order import Ordered, beyond
from reports.histogram import Histogram

if TYPE_CHECKING:
    from harness.sla.rule import Rule
    from harness.summary.due_order import FloatArray
    from harness.summary.snapshot import Snapshot
    from harness.summary.token_arrivals import IntArray


def find(rule: Rule, snapshot: Snapshot, confidence: float) -> Finding:
    """Evidence for or against a rule on a figure of the server.

    ``min`` and ``max`` are exact of what was seen, and say how seldom that was. Percentile and mean are
    judged as those of requests are, by the same rules and with the dependence that the order of looks shows.
    """
    assert rule.statistic is not None
    figure, samples = SERVER_FIGURES[rule.metric], snapshot.server
    if samples is None:
        return Finding(observed=None, n=0, reason="the server's metrics were not read")
    at_ns, values = samples.of(figure)
    if not values.size:
        return Finding(observed=None, n=0, reason=samples.reason(figure))
    found = _found(rule, _as_of_requests(rule, at_ns, values, snapshot), values, confidence)
    return structs.replace(found, detail=f"{found.detail}; the server was looked at {_how_often(at_ns)}")


def _found(rule: Rule, seen: Snapshot, values: FloatArray, confidence: float) -> Finding:
    assert rule.statistic is not None
    if rule.statistic.p is not None:
        return percentile.find(rule, rule.statistic.p, seen, confidence)
    if rule.statistic.name == "mean":
        return mean.find(rule, seen, confidence)
    value = float(values.max() if rule.statistic.name == "max" else values.min())
    decision = of_this_run(rule, value)
    return Finding(observed=value, n=values.size, decision=decision, detail=f"of {values.size}")


def _how_often(at_ns: IntArray) -> str:
    return "once" if at_ns.size < 2 else f"every {float(np.diff(at_ns).mean()) / 1e9:.2g} s"


def _as_of_requests(rule: Rule, at_ns: IntArray, values: FloatArray, snapshot: Snapshot) -> Snapshot:
    """A snapshot in which each look is a request, due when it was made."""
    series, histogram = rule.series(snapshot.loop), Histogram()
    histogram.record_many(_in_steps(rule, values))
    order = Ordered(at_ns, {str(series): values})
    return dataclasses.replace(snapshot, histograms={series: histogram}, due_order=order)


def _in_steps(rule: Rule, values: FloatArray) -> IntArray:
    """In whole histogram units, none of them rounded to the other side of the limit."""
    units, up_to = np.rint(values / step(rule.unit)), percentile.units_up_to_limit(rule)
    is_over = beyond(rule, values) == rule.operator.is_ceiling
    return np.where(is_over, np.maximum(units, up_to + 1), np.minimum(units, up_to)).astype(np.int64)
