"""Rules on a percentile of a metric: MLPerf's, on the share of values beyond the limit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from harness.metrics import Unit
from harness.recorder import step
from harness.sla import spells, tails
from harness.sla.dependence import INDEPENDENT, of_share
from harness.sla.evidence.counted import decide, known, may_miss, needed
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
    beyond, n, allowed = count_beyond(rule, histogram), histogram.n, _allowed(rule)

    def decided(count: float, size: int, expected: Dependence) -> Decision:
        decision = decide(count, size, allowed, confidence, expected)
        clear = _clear(rule, p, (count, size), histogram, expected, confidence)
        return decision if decision is not Decision.OPEN or clear is None else clear[0]

    decision = decide(beyond, n, allowed, confidence, dependence)
    low, high = _narrowest(
        known(rule, n, dependence, _by_ranks(histogram, p, dependence, confidence)),
        _by_spells(rule, histogram, confidence),
    )
    detail = f"{beyond} of {n} {'over' if rule.operator.is_ceiling else 'under'} the limit"
    clear = _clear(rule, p, (beyond, n), histogram, dependence, confidence)
    if decision is Decision.OPEN and clear is not None:
        decision, low, high = clear
        detail = f"{detail}, none near it"
    return Finding(
        observed=histogram.percentile(p) * scale,
        n=n,
        dependence=dependence,
        low=None if low is None else low * scale,
        high=None if high is None else high * scale,
        decision=decision,
        needed=needed(beyond, n, dependence, decided) if decision is Decision.OPEN else None,
        detail=detail,
    )


def count_beyond(rule: Rule, histogram: Histogram) -> int:
    """Number of values that miss the limit of a metric's rule, as the histogram's percentiles see them."""
    over = histogram.count_over(units_up_to_limit(rule))
    return over if rule.operator.is_ceiling else histogram.n - over


def units_up_to_limit(rule: Rule) -> int:
    """The largest value, in whole histogram units, on the lower side of a rule's limit."""
    limit = round(rule.limit / step(rule.unit), 9)
    return math.ceil(limit) - 1 if rule.operator.strict == rule.operator.is_ceiling else math.floor(limit)


def _allowed(rule: Rule) -> float:
    allowed = may_miss(rule)
    assert allowed is not None
    return allowed


def _by_ranks(
    histogram: Histogram, p: float, dependence: Dependence, confidence: float
) -> tuple[float | None, float | None]:
    """Order statistics (David and Nagaraja, 7.1): the limits between which no rule on it is decided."""
    n = histogram.n
    few, many = deciding_counts(n, 1 - p / 100, confidence, dependence.effect)
    low = None if many > n else histogram.value_at_rank(n - many + 1)
    return low, None if few < 0 else histogram.value_at_rank(n - few)


def _by_spells(rule: Rule, histogram: Histogram, confidence: float) -> tuple[float | None, float | None]:
    """The bound that holds in whatever order the misses came."""
    n = histogram.n
    many = spells.refuting_count(n, _allowed(rule), confidence)
    if many > n:
        return None, None
    if rule.operator.is_ceiling:
        return histogram.value_at_rank(n - many + 1), None
    return None, histogram.value_at_rank(many)


def _narrowest(
    one: tuple[float | None, float | None], other: tuple[float | None, float | None]
) -> tuple[float | None, float | None]:
    """Of two pairs of bounds those that say most."""
    lows = [low for low in (one[0], other[0]) if low is not None]
    highs = [high for high in (one[1], other[1]) if high is not None]
    return max(lows, default=None), min(highs, default=None)


def _clear(
    rule: Rule,
    p: float,
    counted: tuple[float, int],
    histogram: Histogram,
    dependence: Dependence,
    confidence: float,
) -> tuple[Decision, float | None, float | None] | None:
    """Decision and bounds where all values lie so far on one side of the limit that few decide; else None.

    As many are asked for as if they were independent.

    Args:
        rule: The rule.
        p: Its percentile.
        counted: How many missed the limit, and of how many; if these are more than there are, the largest is
            taken to grow as that of an exponential tail.
        histogram: Between whose ends they lie.
        dependence: Of these.
        confidence: Of decision and bounds.
    """
    is_ceiling, (beyond, n) = rule.operator.is_ceiling, counted
    decision = decide(beyond, n, _allowed(rule), confidence, INDEPENDENT)
    if decision is Decision.OPEN or not histogram.minimum:
        return None
    holds, growth = decision is Decision.TRUE, math.log1p(n) / math.log1p(histogram.n)
    ends = float(histogram.minimum), float(histogram.maximum)
    bound = _by_tail(rule, p, ends, growth, dependence.worth(n), confidence, holds=holds)
    if rule.holds(bound * step(rule.unit)) != holds:
        return None
    return (decision, None, bound) if is_ceiling == holds else (decision, bound, None)


def _by_tail(
    rule: Rule,
    p: float,
    ends: tuple[float, float],
    growth: float,
    worth: float,
    confidence: float,
    *,
    holds: bool,
) -> float:
    """What percentile ``p`` is at most, for a ceiling that holds or a floor that doesn't; else at least.

    A floor is the mirror image of a ceiling: the tail reaches down from the largest value. But small rates
    are long times, so a floor of rates is a ceiling of their reciprocals.
    """
    least, most = ends
    if not rule.operator.is_ceiling and holds and rule.unit != Unit.TOKENS_PER_SECOND:
        return most - tails.upper(100 - p, 0.0, (most - least) * growth, worth, confidence)
    if not rule.operator.is_ceiling:
        p, least, most = 100 - p, 1 / most, 1 / least
    if holds:
        bound = tails.upper(p, least, least + (most - least) * growth, worth, confidence)
    else:
        bound = tails.lower(p, least, worth, confidence)
    return bound if rule.operator.is_ceiling else 1 / bound
