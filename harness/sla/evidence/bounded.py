"""Decisions from bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.sla.statistics import Decision

if TYPE_CHECKING:
    from harness.sla.rule import Rule


def decide(rule: Rule, bounds: tuple[float, float] | None) -> Decision:
    """Whether the rule holds at both ends of an interval, or at neither."""
    if bounds is None:
        return Decision.OPEN
    worst, best = (bounds[1], bounds[0]) if rule.operator.is_ceiling else bounds
    if rule.holds(worst):
        return Decision.TRUE
    return Decision.OPEN if rule.holds(best) else Decision.FALSE


def of_this_run(rule: Rule, value: float) -> Decision:
    """Whether the rule holds of a value that speaks of this run alone, and so needs no confidence."""
    return Decision.TRUE if rule.holds(value) else Decision.FALSE
