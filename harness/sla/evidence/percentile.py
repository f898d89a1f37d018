"""Rules on a percentile of a metric: MLPerf's, on the share of values beyond the limit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from harness.recorder import step
from harness.sla import tails
from harness.sla.dependence import INDEPENDENT, of_share
from harness.sla.evidence.counted import decide, known, needed
from harness.sla.finding import Finding
from harness.sla.statistics import Decision, deciding_counts

if TYPE_CHECKING:
    from harness.sla.dependence import Dependence
    from harness.sla.rule import Rule
    from harness.summary.snapshot import Snapshot
    from reports.histogram import Histogram


def find(rule: Rule, p: float, snapshot: Snapshot, confidence: float) -> Finding:
    """Evidence for or against a rule on percentile ``p``."""
    series = rule.series(snapshot.loop)
    histogram, scale = snapshot.histograms[series], step(rule.unit)
    samples = snapshot.due_order.samples(rule, series)
    variance = (histogram.standard_deviation * scale) ** 2
    dependence = INDEPENDENT if samples is None else of_share(samples, variance)
    beyond, n, is_ceiling = count_beyond(rule, histogram), histogram.n, rule.operator.is_ceiling
    allowed = _allowed(rule, p)
    decision = decide(beyond, n, allowed, confidence, dependence)
    low, high = known(rule, n, dependence, _by_ranks(histogram, p, dependence, confidence))
    detail = f"{beyond} of {n} {'over' if is_ceiling else 'under'} the limit"
    if decision is Decision.OPEN and (clear := _clear(rule, p, beyond, histogram, dependence, confidence)):
        decision, low, high = clear
        detail = f"{detail}, none near it"
    return Finding(
        observed=histogram.percentile(p) * scale,
        n=n,
        dependence=dependence,
        low=None if low is None else low * scale,
        high=None if high is None else high * scale,
        decision=decision,
        needed=needed(beyond, n, allowed, confidence, dependence),
        detail=detail,
    )


def count_beyond(rule: Rule, histogram: Histogram) -> int:
    """Number of values that miss the limit of a metric's rule, as the histogram's percentiles see them."""
    limit = round(rule.limit / step(rule.unit), 9)
    up_to = math.ceil(limit) - 1 if rule.operator.strict == rule.operator.is_ceiling else math.floor(limit)
    over = histogram.count_over(up_to)
    return over if rule.operator.is_ceiling else histogram.n - over


def _allowed(rule: Rule, p: float) -> float:
    """The share of values that may miss the limit of a rule on percentile ``p``."""
    return 1 - p / 100 if rule.operator.is_ceiling else p / 100


def _by_ranks(
    histogram: Histogram, p: float, dependence: Dependence, confidence: float
) -> tuple[float | None, float | None]:
    """Order statistics (David and Nagaraja, 7.1): the limits between which no rule on it is decided."""
    n = histogram.n
    few, many = deciding_counts(n, 1 - p / 100, confidence, dependence.effect)
    low = None if many > n else histogram.value_at_rank(n - many + 1)
    return low, None if few < 0 else histogram.value_at_rank(n - few)


def _clear(
    rule: Rule, p: float, beyond: int, histogram: Histogram, dependence: Dependence, confidence: float
) -> tuple[Decision, float | None, float | None] | None:
    """Decision and bounds where all values lie so far on one side of the limit that few decide; else None.

    As many are asked for as if they were independent. Small rates are long times, so a floor is a ceiling of
    the reciprocals.
    """
    is_ceiling, n = rule.operator.is_ceiling, histogram.n
    least, most = float(histogram.minimum), float(histogram.maximum)
    allowed = _allowed(rule, p)
    decision = decide(beyond, n, allowed, confidence, INDEPENDENT)
    if decision is Decision.OPEN or not least:
        return None
    if not is_ceiling:
        p, least, most = 100 - p, 1 / most, 1 / least
    holds, worth = decision is Decision.TRUE, dependence.worth(n)
    bound = (
        tails.upper(p, least, most, worth, confidence) if holds else tails.lower(p, least, worth, confidence)
    )
    bound = bound if is_ceiling else 1 / bound
    if rule.holds(bound * step(rule.unit)) != holds:
        return None
    return (decision, None, bound) if is_ceiling == holds else (decision, bound, None)
