"""Numbers of the baseline: ``run.ttft.p(95) <= run.baseline.ttft.p(95) * 1.10`` is an objective, judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.comparison.figure import matching
from harness.comparison.objectives import RelativeRule, relative_rules_from
from harness.pytest.plainly import plainly
from harness.rates import UNITS
from harness.sla.errors import RuleError
from reports.units import quantity

if TYPE_CHECKING:
    from harness.comparison.side import Side

__tracebackhide__ = True


class OfBaseline:
    """The baseline that a run is held against; its metrics and rates are attributes, as those of a run.

    Args:
        side: The baseline.
    """

    def __init__(self, side: Side) -> None:
        self._side = side

    def __getattr__(self, name: str) -> ValuesOfBaseline | NumberOfBaseline:
        if name.startswith("_"):
            raise AttributeError(name)
        return NumberOfBaseline(self._side, name, "") if name in UNITS else ValuesOfBaseline(self._side, name)

    def __repr__(self) -> str:
        return f"<baseline {self._side.label}>"


class ValuesOfBaseline:
    """The baseline's values of a metric.

    Args:
        side: The baseline.
        key: The metric.
    """

    def __init__(self, side: Side, key: str) -> None:
        self._side = side
        self._key = key

    def p(self, p: float) -> NumberOfBaseline:
        """A percentile, in per cent."""
        return NumberOfBaseline(self._side, self._key, f"p{p}")

    @property
    def mean(self) -> NumberOfBaseline:
        """Their mean."""
        return NumberOfBaseline(self._side, self._key, "mean")


class NumberOfBaseline:
    """One number of the baseline, and how much worse than it another may be.

    Times a factor, or for a share plus a difference, it is a limit: ``* 1.10`` allows 10 %, ``+ 0.01``
    a point.

    Args:
        side: The baseline.
        key: The metric or rate.
        statistic: ``p95``, ``mean``; empty for a rate.
        change: What is allowed, as an objective writes it: `` + 10 %``.
    """

    __hash__ = None  # type: ignore[assignment]  # a limit, compared by what it is compared with

    @plainly
    def __init__(self, side: Side, key: str, statistic: str, change: str = "") -> None:
        self._side = side
        self._asked = (key, statistic)
        self._change = change
        self._figure = matching(f"{key} {statistic}".strip())[0]

    def __mul__(self, factor: float) -> NumberOfBaseline:
        return NumberOfBaseline(self._side, *self._asked, _signed(100 * (factor - 1), "%"))

    __rmul__ = __mul__

    def __add__(self, difference: float) -> NumberOfBaseline:
        return NumberOfBaseline(self._side, *self._asked, _signed(100 * difference, "points"))

    def __sub__(self, difference: float) -> NumberOfBaseline:
        return self + -difference

    def __float__(self) -> float:
        value = self._side.value(self._figure)
        if value is None:
            raise ValueError(f"{self!r}: {self._side.reason(self._figure)}")
        return value

    def __repr__(self) -> str:
        value = quantity(self._side.value(self._figure), self._figure.unit)
        return f"{self._figure} of {self._side.label} = {value}"

    def rule(self, key: str, statistic: str, operator: str) -> RelativeRule:
        """The objective that a number of a run compared with this one is.

        Raises:
            RuleError: It is another number, or the worse side is asked for.
        """
        if (key, statistic) != self._asked:
            raise RuleError(
                f"{key} {statistic} can't be held against {' '.join(self._asked)} of the baseline"
            )
        (rule,) = relative_rules_from({key: [f"{statistic} {operator} baseline{self._change}".strip()]})
        return rule


def _signed(amount: float, unit: str) -> str:
    return f" {'-' if amount < 0 else '+'} {abs(amount):.10g} {unit}"
