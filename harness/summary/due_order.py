"""What verdicts need of the order of requests: neighbours share the server's queue, so they are alike.

Histograms forget who came after whom. So for each judged rule a few numbers of every measured request are
kept, 4 bytes each beside 8 for its due time. Requests are added in any order; put in order of due time they
are the same for one process, for several put together, and for the journal.
"""

from __future__ import annotations

import math
from array import array
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec
import numpy as np

from harness import metrics
from harness.metrics import Missing, RequestMetric
from harness.rates import ATTAINMENT, SHARE, UNITS
from harness.summary.shares import mark
from harness.terms import NO_TERMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from harness.metrics import Metric
    from harness.record import Record
    from harness.series import Series
    from harness.sla.rule import Rule
    from harness.terms import Terms

FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


class DueOrderState(msgspec.Struct, frozen=True, kw_only=True):
    """What a ``DueOrder`` holds.

    Attributes:
        due_ns: Due times of the requests, 64 bits each, little end first.
        columns: By name, floats of 32 bits, as many; not a number where a request has none.
    """

    due_ns: bytes
    columns: dict[str, bytes]


class Samples(NamedTuple):
    """The requests that a rule is judged by, in order of due time. All arrays have shape (requests,).

    Attributes:
        sizes: How many samples each gave: 1, or so many as it had tokens or chunks.
        sums: Of the values of these samples.
        misses: How many of them are beyond the limit; None for a rule on a mean.
        moods: Values that tell how the server was doing, by which requests may be alike even where none of
            them missed. Each may leave requests out.
    """

    sizes: FloatArray
    sums: FloatArray
    misses: FloatArray | None
    moods: tuple[FloatArray, ...]


class Ordered:
    """Columns of numbers in order of due time, of a run that is over or of a moment of it.

    Args:
        due_ns: Shape (requests,).
        columns: By name, same shape.

    Attributes:
        due_ns: In order.
        columns: Likewise, in order.
    """

    def __init__(
        self, due_ns: np.ndarray[Any, np.dtype[np.int64]], columns: Mapping[str, FloatArray]
    ) -> None:
        order = np.argsort(due_ns, kind="stable")
        if np.any(np.diff(due_ns[order]) == 0):  # alike in all columns they may stand in any order
            order = np.lexsort((*columns.values(), due_ns))
        self.due_ns = due_ns[order]
        self.columns = {name: column[order] for name, column in columns.items()}

    def due_ns_of(self, rule: Rule, series: Series | None) -> np.ndarray[Any, np.dtype[np.int64]]:
        """When the requests were due that ``samples`` tells of, in their order; it must tell of some."""
        name = rule.metric if series is None else str(series)
        column = self.columns[name if name in self.columns else _number(name)]
        return np.asarray(self.due_ns[~np.isnan(column)])

    def samples(self, rule: Rule, series: Series | None) -> Samples | None:
        """What a rule is judged by; None where the order says nothing of it.

        Args:
            rule: A share of requests, a percentile or a mean.
            series: Which of the metric's; None for a share.
        """
        if series is None:
            return self._of_outcomes(rule)
        if str(series) in self.columns:
            return self._of_requests(rule, str(series))
        return self._of_tokens(rule, str(series)) if _number(str(series)) in self.columns else None

    def _of_outcomes(self, rule: Rule) -> Samples | None:
        if rule.metric not in self.columns:
            return None
        marks = _known(self.columns[rule.metric])
        if rule.metric != ATTAINMENT:
            return Samples(np.ones(marks.size), marks, marks, ())
        return Samples(np.ones(marks.size), 1 - marks, 1 - marks, self._moods())

    def count(self, share: str) -> tuple[int, int]:
        """How many requests belong to a judged share, and of how many."""
        marks = _known(self.columns[share])
        return round(float(marks.sum())), marks.size

    def _moods(self) -> tuple[FloatArray, ...]:
        plain = (name for name in self.columns if name not in UNITS and " " not in name)
        return tuple(_known(self.columns[name]) for name in plain)

    def _of_requests(self, rule: Rule, name: str) -> Samples:
        values = _known(self.columns[name])
        misses = beyond(rule, values).astype(np.float64) if _is_percentile(rule) else None
        return Samples(np.ones(values.size), values, misses, (values,))

    def _of_tokens(self, rule: Rule, name: str) -> Samples:
        sizes, sums = _known(self.columns[_number(name)]), _known(self.columns[_sum(name)])
        misses = _known(self.columns[_beyond(name, rule)]) if _is_percentile(rule) else None
        return Samples(sizes, sums, misses, (sums / sizes,))


class DueOrder:
    """Takes the measured requests of a run.

    Args:
        rules: Its objectives.
        loop: ``open`` or ``closed``.
        terms: Of the scenario.
    """

    def __init__(self, rules: Iterable[Rule], loop: str, terms: Terms = NO_TERMS) -> None:
        self._due_ns = array("q")
        self._columns: dict[str, array[float]] = {}
        shares: list[str] = []
        by_series: dict[Series, list[Rule]] = {}
        for rule in rules:
            if rule.is_rate:
                shares += [rule.metric] if rule.unit == SHARE else []
            elif rule.is_of_requests:
                by_series.setdefault(rule.series(loop), []).append(rule)
        self._shares = tuple(dict.fromkeys(shares))
        self._valued = [_Valued(series, rules, terms) for series, rules in by_series.items()]
        self._columns = {name: array("f") for name in self._names()}

    def _names(self) -> Iterator[str]:
        yield from self._shares
        for valued in self._valued:
            yield from valued.names

    def add(self, record: Record, *, met: bool | None) -> None:
        """Take a measured request.

        Args:
            record: The request.
            met: Whether it met its objectives; None where that can't be said.
        """
        if not self._columns:
            return
        self._due_ns.append(record.due_ns)
        for share in self._shares:
            self._columns[share].append(mark(share, record, met=met))
        for valued in self._valued:
            for name, number in zip(valued.names, valued.numbers(record), strict=True):
                self._columns[name].append(number)

    def state(self) -> DueOrderState:
        """What was taken so far, as a value that can be sent to another process."""
        columns = {name: column.tobytes() for name, column in self._columns.items()}
        return DueOrderState(due_ns=self._due_ns.tobytes(), columns=columns)

    def merge(self, other: DueOrderState) -> None:
        """Add the state of another of the same run."""
        self._due_ns.frombytes(other.due_ns)
        for name, column in self._columns.items():
            column.frombytes(other.columns[name])

    def ordered(self) -> Ordered:
        """What was taken so far, in order."""
        columns = {name: np.array(column, np.float64) for name, column in self._columns.items()}
        return Ordered(np.array(self._due_ns, np.int64), columns)


class _Valued:
    """The numbers of a request that rules on one series need."""

    def __init__(self, series: Series, rules: Iterable[Rule], terms: Terms) -> None:
        self._series = series
        self._metric: Metric = metrics.metric(series.metric).under(terms)
        self._is_plain = isinstance(self._metric, RequestMetric)
        name = str(series)
        self._percentiles = [rule for rule in rules if _is_percentile(rule)]
        marks = (_beyond(name, rule) for rule in self._percentiles)
        self.names = (name,) if self._is_plain else (_number(name), _sum(name), *marks)

    def numbers(self, record: Record) -> Iterable[float]:
        """One for each name."""
        values = None
        if record.outcome.succeeded:
            values = self._metric.values(record, self._series.start_ns(record))
        if values is None or isinstance(values, Missing):
            return [math.nan] * len(self.names)
        if self._is_plain:
            return values
        array_ = np.asarray(values, np.float64)
        marks = (int(np.count_nonzero(beyond(rule, array_))) for rule in self._percentiles)
        return array_.size, float(array_.sum()), *marks


def beyond(rule: Rule, values: FloatArray) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which values miss the limit of a rule, same shape."""
    strict, limit = rule.operator.strict, rule.limit
    if rule.operator.is_ceiling:
        return np.asarray(values >= limit if strict else values > limit)
    return np.asarray(values <= limit if strict else values < limit)


def _is_percentile(rule: Rule) -> bool:
    return rule.statistic is not None and rule.statistic.p is not None


def _known(column: FloatArray) -> FloatArray:
    return column[~np.isnan(column)]


def _number(name: str) -> str:
    return f"{name} number"


def _sum(name: str) -> str:
    return f"{name} sum"


def _beyond(name: str, rule: Rule) -> str:
    return f"{name} {rule.operator} {rule.limit!r}"
