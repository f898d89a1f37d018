"""Decisions from counts, with regard to how dependent the samples are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from harness.rates import SHARE
from harness.sla import spells
from harness.sla.statistics import Decision, decide_share, first

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.sla.dependence import Dependence
    from harness.sla.rule import Rule

T = TypeVar("T")

_MOST: Final = 10**15


def may_miss(rule: Rule) -> float | None:
    """The share of samples that may miss the limit; None where the rule doesn't count them."""
    if rule.is_rate:
        if rule.unit != SHARE:
            return None
        return rule.limit if rule.operator.is_ceiling else 1 - rule.limit
    if rule.statistic is None or rule.statistic.p is None:
        return None
    return 1 - rule.statistic.p / 100 if rule.operator.is_ceiling else rule.statistic.p / 100


def decide(count: float, n: float, share: float, confidence: float, dependence: Dependence) -> Decision:
    """Whether no more than ``share`` of all are such as ``count`` of ``n`` dependent samples were."""
    decision = decide_share(dependence.worth(count), dependence.worth(n), share, confidence)
    allowed = {Decision.TRUE: dependence.can_hold, Decision.FALSE: dependence.can_violate}
    if decision is not Decision.OPEN and allowed[decision](n):
        return decision
    return Decision.FALSE if spells.refute(count, n, share, confidence) else Decision.OPEN


def needed(
    count: int, n: int, dependence: Dependence, decide: Callable[[float, int, Dependence], Decision]
) -> int | None:
    """How many samples in all would decide if all went on like this; None where no number would.

    Args:
        count: So many were beyond the limit.
        n: Of so many.
        dependence: As these showed it.
        decide: Judges a count, a number of samples, and the dependence that those are expected to show.
    """

    def decided(size: int) -> bool:
        return decide(count * (size / n), size, dependence.of(size)) is not Decision.OPEN

    return first(decided, n + 1, _MOST)


def known(rule: Rule, n: int, dependence: Dependence, bounds: tuple[T, T]) -> tuple[T | None, T | None]:
    """Those of two bounds, from below and from above, of which ``n`` dependent samples say enough.

    It takes more to show that a rule holds than that it is violated.
    """
    low, high = bounds
    can_be_low, can_be_high = dependence.can_violate(n), dependence.can_hold(n)
    if not rule.operator.is_ceiling:
        can_be_low, can_be_high = can_be_high, can_be_low
    return low if can_be_low else None, high if can_be_high else None
