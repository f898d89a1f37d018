"""Objectives that no run can meet together: ``p95 < 1s`` beside ``p95 > 2s``."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from harness.sla.errors import RuleError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.sla.rule import Rule, Statistic


def demand_consistent(rules: Iterable[Rule]) -> None:
    """Refuse rules of which one must miss, whatever the server does.

    Raises:
        RuleError: Two of them contradict each other.
    """
    for one, other in itertools.combinations(rules, 2):
        if _contradict(one, other) or _contradict(other, one):
            raise RuleError(f"'{one}' and '{other}' can't both hold; take one of them out")


def _contradict(ceiling: Rule, floor: Rule) -> bool:
    if not ceiling.operator.is_ceiling or floor.operator.is_ceiling:
        return False
    if (ceiling.metric, ceiling.basis) != (floor.metric, floor.basis):
        return False
    strict = ceiling.operator.strict or floor.operator.strict
    no_room = floor.limit > ceiling.limit or (floor.limit == ceiling.limit and strict)
    return no_room and _never_below(ceiling.statistic, floor.statistic)


def _never_below(upper: Statistic | None, lower: Statistic | None) -> bool:
    """Whether the one is at least the other, of any values: the 95th percentile and the median."""
    if upper is None or lower is None or upper == lower:
        return True
    if upper.p is not None and lower.p is not None:
        return upper.p >= lower.p
    return upper.name == "max" or lower.name == "min"
