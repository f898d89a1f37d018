"""What is compared: one number of a run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from harness import metrics
from harness.comparison.errors import ComparisonError
from harness.rates import SHARE, UNITS
from harness.sla.errors import RuleError
from harness.sla.grammar import parse_key, parse_statistic
from harness.sla.rule import Statistic
from scenarios.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

METRICS: Final = ("ttft", "tpot", "itl", "e2e")
"""Times that a sample holds, on the response basis."""
RATES: Final = ("goodput", "error_rate", "output_token_rate", "attainment", "request_rate")
_USUAL_RATES: Final = ("goodput", "error_rate", "output_token_rate")
_LARGER_IS_WORSE: Final = ("error_rate",)
_ENDS: Final = re.compile(r"min|max|p\(?(?=\d)0*(100)?(\.0*)?\)?", re.IGNORECASE)
_STATISTICS: Final = (*(Statistic("percentile", p) for p in (50.0, 95.0, 99.0)), Statistic("mean"))


class Figure(msgspec.Struct, frozen=True):
    """A statistic of a metric, or a rate or share.

    Attributes:
        metric: ``ttft``, ..., ``goodput``.
        statistic: A percentile or the mean; None for a rate or share.
    """

    metric: str
    statistic: Statistic | None = None

    def __str__(self) -> str:
        """As it is asked for: ``ttft p95``, ``goodput``."""
        return self.metric if self.statistic is None else f"{self.metric} {self.statistic}"

    @property
    def unit(self) -> str:
        """``ns``, ``requests/s``, ``tokens/s`` or ``share``."""
        return UNITS[self.metric] if self.statistic is None else str(metrics.metric(self.metric).unit)

    @property
    def is_share(self) -> bool:
        """Shares are compared by their difference: a ratio to no errors at all says nothing."""
        return self.unit == SHARE

    @property
    def larger_is_worse(self) -> bool:
        """True for times and failures."""
        return self.statistic is not None or self.metric in _LARGER_IS_WORSE

    @property
    def share_beyond(self) -> float | None:
        """Of a percentile: the share of samples beyond it, on the thinner side."""
        if self.statistic is None or self.statistic.p is None:
            return None
        return min(self.statistic.p, 100 - self.statistic.p) / 100


def usual_figures() -> tuple[Figure, ...]:
    """p50, p95, p99 and mean of every metric, then goodput, error rate and token rate."""
    of_metrics = (Figure(metric, statistic) for metric in METRICS for statistic in _STATISTICS)
    return (*of_metrics, *map(Figure, _USUAL_RATES))


def figures_of(texts: Iterable[str]) -> tuple[Figure, ...]:
    """The figures that ``--metric`` asks for, each once; a metric alone stands for its usual four.

    Raises:
        ComparisonError: There is no such figure.
    """
    return tuple(dict.fromkeys(figure for text in texts for figure in matching(text)))


def matching(text: str) -> tuple[Figure, ...]:
    """The figures of ``ttft p95``, of ``ttft`` or of ``goodput``.

    Raises:
        ComparisonError: There is no such figure.
    """
    name, _, statistic = text.strip().partition(" ")
    try:
        metric, basis = parse_key(name)
        if metric in METRICS and _ENDS.fullmatch(statistic.strip()):
            raise ComparisonError(
                f"'{text}': a single value tells nothing of the next run; compare a percentile: "
                f"'{metric} p99'"
            )
        parsed = parse_statistic(statistic.strip()) if statistic.strip() else None
    except RuleError as error:
        raise ComparisonError(f"'{text}': {error}") from error
    if metric in UNITS:
        return (_rate(text, metric, parsed),)
    if metric not in METRICS or basis not in (None, "response"):
        known = (*METRICS, *RATES)
        raise ComparisonError(f"'{text}' can't be compared; {did_you_mean(name, known)}")
    if parsed is None:
        return tuple(Figure(metric, each) for each in _STATISTICS)
    return (Figure(metric, parsed),)


def _rate(text: str, metric: str, statistic: Statistic | None) -> Figure:
    if metric not in RATES:
        raise ComparisonError(f"'{text}' can't be compared; {did_you_mean(metric, (*METRICS, *RATES))}")
    if statistic is not None:
        raise ComparisonError(f"'{text}': {metric} is a single number; write '{metric}'")
    return Figure(metric)
