"""Some requests for the report: the failures first, then the rest, as many as a page can hold."""

from __future__ import annotations

import heapq
import itertools
from typing import TYPE_CHECKING, Final

import msgspec

from harness import metrics
from harness.metrics import Missing, RequestMetric
from harness.series import RESPONSE, series_of
from reports.result import RequestRow

if TYPE_CHECKING:
    from harness.record import Record

MAX_ROWS: Final = 2_000
_MAX_MESSAGE: Final = 500
_WORD: Final = (1 << 64) - 1


class RowsState(msgspec.Struct, frozen=True, kw_only=True):
    """What ``RequestRows`` holds.

    Attributes:
        num_requests: Requests seen.
        failures: Rows of those that failed.
        others: Rows of the rest.
    """

    num_requests: int
    failures: list[RequestRow]
    others: list[RequestRow]


class RequestRows:
    """At most ``max_rows`` rows of a run of any length.

    Of failures and of other requests an even sample each is kept: those whose index has the lowest rank in a
    shuffle of all numbers. So the same requests give the same rows in whatever order and parts they were
    seen. In the end failures take their places first.
    """

    def __init__(self, loop: str, max_rows: int = MAX_ROWS) -> None:
        self.num_requests = 0
        self._loop = loop
        self._max_rows = max_rows
        self._failures = _EvenSample(max_rows)
        self._others = _EvenSample(max_rows)

    def add(self, record: Record, *, measured: bool) -> None:
        """Take a row of the request, or not, by chance."""
        self.num_requests += 1
        sample = self._failures if record.outcome.failed else self._others
        if sample.wants(record.index):
            sample.put(self._row(record, measured=measured))

    def state(self) -> RowsState:
        """What was kept so far, as a value that can be sent to another process."""
        return RowsState(
            num_requests=self.num_requests,
            failures=self._failures.rows(self._max_rows),
            others=self._others.rows(self._max_rows),
        )

    def merge(self, other: RowsState) -> None:
        """Add the state of another."""
        self.num_requests += other.num_requests
        for row in other.failures:
            self._failures.put(row)
        for row in other.others:
            self._others.put(row)

    def rows(self) -> tuple[RequestRow, ...]:
        """In order of index, unless there are more requests than rows: then the failures come first."""
        failures = self._failures.rows(self._max_rows)
        others = self._others.rows(self._max_rows - len(failures))
        if self.num_requests <= self._max_rows:
            return tuple(sorted((*failures, *others), key=_index))
        return (*sorted(failures, key=_index), *sorted(others, key=_index))

    def _row(self, record: Record, *, measured: bool) -> RequestRow:
        lag = self._value("schedule_lag", record) if self._loop == "open" else None
        ttft, e2e = self._value("ttft", record), self._value("e2e", record)
        return RequestRow(
            index=record.index,
            start_s=(record.due_ns if record.sent_ns is None else record.sent_ns) / 1e9,
            outcome=record.outcome.value,
            detail=record.detail,
            measured=measured,
            prompt_tokens=record.prompt_tokens,
            output_tokens=record.output_tokens,
            ttft=None if ttft is None else round(ttft),
            tpot=self._value("tpot", record),
            e2e=None if e2e is None else round(e2e),
            schedule_lag=None if lag is None else round(lag),
            message="" if record.outcome.succeeded else record.message[:_MAX_MESSAGE],
            request_id=record.request_id if record.outcome.failed else None,
        )

    def _value(self, name: str, record: Record) -> float | None:
        metric = metrics.metric(name)
        assert isinstance(metric, RequestMetric)
        value = metric.value(record, series_of(name, RESPONSE, self._loop).start_ns(record))
        return None if isinstance(value, Missing) else value


class _EvenSample:
    """The rows of lowest rank, at most ``size``: a heap with the one that would go first on top."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._heap: list[tuple[int, int, RequestRow]] = []
        self._numbers = itertools.count()  # so that rows themselves are never compared

    def wants(self, index: int) -> bool:
        return len(self._heap) < self._size or -_rank(index) > self._heap[0][0]

    def put(self, row: RequestRow) -> None:
        entry = (-_rank(row.index), next(self._numbers), row)
        if len(self._heap) < self._size:
            heapq.heappush(self._heap, entry)
        else:
            heapq.heappushpop(self._heap, entry)

    def rows(self, num: int) -> list[RequestRow]:
        """The ``num`` of lowest rank."""
        return [row for _, _, row in heapq.nlargest(num, self._heap)]


def _rank(index: int) -> int:
    """The place of a request in a shuffle of all indexes: the finaliser of SplitMix64 (Steele 2014)."""
    mixed = (index + 0x9E3779B97F4A7C15) & _WORD
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _WORD
    return mixed ^ (mixed >> 31)


def _index(row: RequestRow) -> int:
    return row.index
