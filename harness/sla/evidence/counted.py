"""Decisions from counts, with regard to how dependent the samples are."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from harness.sla.statistics import Decision, decide_share, samples_needed

if TYPE_CHECKING:
    from harness.sla.dependence import Dependence
    from harness.sla.rule import Rule

T = TypeVar("T")


def decide(count: int, n: int, share: float, confidence: float, dependence: Dependence) -> Decision:
    """Whether no more than ``share`` of all are such as ``count`` of ``n`` dependent samples were."""
    decision = decide_share(dependence.worth(count), dependence.worth(n), share, confidence)
    allowed = {Decision.TRUE: dependence.can_hold, Decision.FALSE: dependence.can_violate}
    return decision if decision is not Decision.OPEN and allowed[decision](n) else Decision.OPEN


def needed(count: int, n: int, share: float, confidence: float, dependence: Dependence) -> int | None:
    """How many samples in all would decide if all went on like this; None where no number would."""
    independent = samples_needed(dependence.worth(count), dependence.worth(n), share, confidence)
    return None if independent is None else max(n, dependence.needed(independent))


def known(rule: Rule, n: int, dependence: Dependence, bounds: tuple[T, T]) -> tuple[T | None, T | None]:
    """Those of two bounds, from below and from above, of which ``n`` dependent samples say enough.

    It takes more to show that a rule holds than that it is violated.
    """
    low, high = bounds
    can_be_low, can_be_high = dependence.can_violate(n), dependence.can_hold(n)
    if not rule.operator.is_ceiling:
        can_be_low, can_be_high = can_be_high, can_be_low
    return low if can_be_low else None, high if can_be_high else None
