"""Which requests belong to a share that is judged, and the shares of single classes of errors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from harness.rates import ATTAINMENT, CLASS_OF, SHARE
from reports.result import Rate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.record import Record
    from harness.sla.rule import Rule
    from harness.summary.due_order import Ordered


def mark(share: str, record: Record, *, met: bool | None) -> float:
    """1 for a request that belongs to the share, 0 for another one; not a number for one that is left out.

    Args:
        share: A name of ``harness.rates`` with the unit ``share``.
        record: A measured request.
        met: Whether it met its objectives; None where that can't be said.
    """
    if share == ATTAINMENT:
        return math.nan if met is None else float(met)
    outcome = record.outcome
    if not outcome.succeeded and not outcome.failed:
        return math.nan
    return float(outcome.failed if share not in CLASS_OF else outcome.value == CLASS_OF[share])


def rates_by_class(rules: Iterable[Rule], due_order: Ordered) -> Iterator[Rate]:
    """The share of each class of errors that an objective is about."""
    for name in dict.fromkeys(rule.metric for rule in rules if rule.metric in CLASS_OF):
        count, total = due_order.count(name)
        yield Rate(
            name=name,
            unit=SHARE,
            value=count / total if total else None,
            numerator=count,
            denominator=total,
            reason=None if total else "no request was measured",
        )
