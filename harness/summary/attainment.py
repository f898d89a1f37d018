"""How many requests met every objective of single requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness import metrics
from harness.counting import Counting
from harness.metrics import Missing, RequestMetric
from harness.rates import UNITS
from harness.summary.throughput import per_second
from harness.terms import NO_TERMS
from reports.result import Rate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.record import Record
    from harness.sla.rule import Rule
    from harness.terms import Terms

_NO_OBJECTIVE = "no objective of single requests is stated"
_NO_REQUEST = "no request was measured"


class Attainment(Counting):
    """Hits and misses among measured requests. An error is a miss.

    A request that was cut, or lacks a value that an objective asks for (and misses no other), is neither.

    Attributes:
        num_hits: Met every objective.
        num_misses: Missed at least one, or failed.
        num_failed: Of the misses, those that failed.
        num_unmeasurable: Succeeded and lack a value.
        num_cut: The run ended before they did.
    """

    counted = ("num_hits", "num_misses", "num_failed", "num_unmeasurable", "num_cut", "_num_succeeded")

    def __init__(self, rules: Iterable[Rule], loop: str, terms: Terms = NO_TERMS) -> None:
        self.num_hits = self.num_misses = self.num_failed = self.num_unmeasurable = self.num_cut = 0
        self._num_succeeded = 0
        self._objectives = [
            (metric.under(terms), rule.series(loop), rule)
            for rule in rules
            if rule.is_of_requests and isinstance(metric := metrics.metric(rule.metric), RequestMetric)
        ]

    @property
    def has_objectives(self) -> bool:
        """Whether any objective speaks of single requests."""
        return bool(self._objectives)

    def add(self, record: Record) -> bool | None:
        """Count a measured request; True for a hit, None for what is neither a hit nor a miss."""
        self._num_succeeded += record.outcome.succeeded
        met = False if record.outcome.failed else self._meets(record) if record.outcome.succeeded else None
        self.num_hits += met is True
        self.num_misses += met is False
        self.num_failed += record.outcome.failed
        self.num_unmeasurable += met is None and record.outcome.succeeded
        self.num_cut += met is None and not record.outcome.succeeded
        return met

    def _meets(self, record: Record) -> bool | None:
        complete = bool(self._objectives)
        for metric, series, rule in self._objectives:
            value = metric.value(record, series.start_ns(record))
            if isinstance(value, Missing):
                complete = False
            elif not rule.holds(value):
                return False
        return complete or None

    def rates(self, window_ns: int) -> tuple[Rate, ...]:
        """Error rate, goodput and attainment."""
        if not self._objectives:
            nothing = (
                Rate(name=name, unit=UNITS[name], value=None, reason=_NO_OBJECTIVE)
                for name in ("goodput", "attainment")
            )
            return (self._error_rate(), *nothing)
        judged = self.num_hits + self.num_misses
        return (
            self._error_rate(),
            per_second("goodput", self.num_hits, window_ns),
            _share("attainment", self.num_hits, judged),
        )

    def _error_rate(self) -> Rate:
        return _share("error_rate", self.num_failed, self._num_succeeded + self.num_failed)


def _share(name: str, count: int, total: int) -> Rate:
    return Rate(
        name=name,
        unit=UNITS[name],
        value=count / total if total else None,
        numerator=count,
        denominator=total,
        reason=None if total else _NO_REQUEST,
    )
