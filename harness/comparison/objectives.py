"""Objectives relative to a baseline: ``p95 <= baseline + 10 %``, of shares ``<= baseline + 1 point``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from harness.comparison.allowance import checked
from harness.comparison.errors import ComparisonError
from harness.comparison.figure import Figure, matching
from harness.sla.errors import RuleError
from harness.sla.grammar import is_relative
from harness.sla.keywords import split_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_CONDITION: Final = re.compile(
    r"(?P<statistic>[^<>=]*?)\s*(?P<operator>[<>]=?)\s*baseline"
    r"(?:\s*(?P<sign>[+-])\s*(?P<amount>\d+(?:\.\d+)?|\.\d+)\s*(?P<unit>%|points?))?",
    re.ASCII,
)
_AMOUNT: Final = re.compile(r"[+-]?\s*(?P<amount>\d+(?:\.\d+)?|\.\d+)\s*(?P<unit>%|points?)", re.ASCII)


class RelativeRule(msgspec.Struct, frozen=True):
    """One objective.

    Attributes:
        figure: What is compared with the baseline's.
        allowed: How much worse it may be, as a share of the baseline's value; of shares, a difference.
    """

    figure: Figure
    allowed: float

    @property
    def key(self) -> str:
        """Under which it stands in a scenario."""
        return self.figure.metric

    @property
    def condition(self) -> str:
        """What stands there: ``p95 <= baseline + 10 %``."""
        head = f"{self.figure.statistic} " if self.figure.statistic else ""
        operator, sign = ("<=", "+") if self.figure.larger_is_worse else (">=", "-")
        unit = ("point" if self.allowed == 0.01 else "points") if self.figure.is_share else "%"
        return f"{head}{operator} baseline {sign} {100 * self.allowed:.12g} {unit}"

    def __str__(self) -> str:
        """The canonical form."""
        return f"{self.key} {self.condition}"


def relative_rules_from(thresholds: Mapping[str, Iterable[str]]) -> tuple[RelativeRule, ...]:
    """Those of a scenario's ``thresholds`` that speak of a baseline, in their order, each once.

    Raises:
        RuleError: One of them is no objective.
    """
    stated = ((key, text) for key, conditions in thresholds.items() for text in conditions)
    return tuple(dict.fromkeys(_rule(key, text) for key, text in stated if is_relative(text)))


def relative_rules_of_keywords(keywords: Mapping[str, object]) -> tuple[RelativeRule, ...]:
    """The rules of a marker's keywords: ``ttft_p95="10%"``, ``error_rate="1 point"``.

    Raises:
        RuleError: One of them is no objective.
    """
    return tuple(_of_keyword(name, value) for name, value in keywords.items())


def _rule(key: str, condition: str) -> RelativeRule:
    match = _CONDITION.fullmatch(condition.strip())
    if match is None:
        raise RuleError(
            f"thresholds: {key}: '{condition}' is no condition; write 'p95 <= baseline + 10 %', of shares "
            "'<= baseline + 1 point'"
        )
    figure = _figure(f"{key} {match['statistic']}", f"thresholds: {key}")
    operator, sign = ("<", "+") if figure.larger_is_worse else (">", "-")
    if match["operator"][0] != operator or (match["sign"] or sign) != sign:
        raise RuleError(
            f"thresholds: {key}: '{condition}' asks for the worse side; write "
            f"'{match['statistic']}{' ' if match['statistic'] else ''}{operator}= baseline {sign} 10 %'"
        )
    return _checked(figure, match["amount"] or "0", match["unit"], f"thresholds: {key}")


def _of_keyword(name: str, value: object) -> RelativeRule:
    match = _AMOUNT.fullmatch(str(value).strip())
    if match is None:
        raise RuleError(f"{name}={value!r}: write how much worse it may be, such as '10%' or '1 point'")
    key, statistic = split_name(name)
    return _checked(_figure(f"{key} {statistic}", name), match["amount"], match["unit"], name)


def _figure(text: str, place: str) -> Figure:
    try:
        figures = matching(text)
    except ComparisonError as error:
        raise RuleError(f"{place}: {error}") from error
    if len(figures) > 1:
        raise RuleError(
            f"{place}: which value of it? write {figures[1].statistic} or another percentile, or mean"
        )
    return figures[0]


def _checked(figure: Figure, amount: str, unit: str | None, place: str) -> RelativeRule:
    is_points = figure.is_share if unit is None else unit != "%"
    try:
        return RelativeRule(figure, checked(figure, float(amount) / 100, is_points=is_points))
    except ComparisonError as error:
        raise RuleError(f"{place}: {error}") from error
