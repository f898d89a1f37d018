"""The shares of single classes of errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.rates import CLASS_OF, SHARE
from reports.result import Rate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.sla.rule import Rule
    from harness.summary.due_order import Ordered


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
