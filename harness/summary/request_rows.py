"""Some requests for the report: the failures first, then the rest, as many as a page can hold."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from harness import metrics
from harness.metrics import Missing, RequestMetric
from harness.series import RESPONSE, series_of
from reports.result import RequestRow

if TYPE_CHECKING:
    from harness.record import Record

MAX_ROWS: Final = 2_000
_MAX_MESSAGE: Final = 500


class RequestRows:
    """At most ``max_rows`` rows of a run of any length.

    Of failures and of other requests an even sample each is kept (Vitter's algorithm R, seeded, so that a
    journal always gives the same rows). In the end failures take their places first.
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
        place = sample.place()
        if place is not None:
            sample.put(place, self._row(record, measured=measured))

    def rows(self) -> tuple[RequestRow, ...]:
        """In order of index, unless there are more requests than rows: then the failures come first."""
        failures, others = self._failures.rows, self._others.rows
        left = self._max_rows - len(failures)
        if len(others) > left:
            others = random.Random(0).sample(others, left)
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
        )

    def _value(self, name: str, record: Record) -> float | None:
        metric = metrics.metric(name)
        assert isinstance(metric, RequestMetric)
        value = metric.value(record, series_of(name, RESPONSE, self._loop).start_ns(record))
        return None if isinstance(value, Missing) else value


class _EvenSample:
    def __init__(self, size: int) -> None:
        self.rows: list[RequestRow] = []
        self._size = size
        self._num_seen = 0
        self._random = random.Random(0)

    def place(self) -> int | None:
        """Where the next row goes; None for nowhere."""
        self._num_seen += 1
        if self._num_seen <= self._size:
            return self._num_seen - 1
        place = self._random.randrange(self._num_seen)
        return place if place < self._size else None

    def put(self, place: int, row: RequestRow) -> None:
        if place == len(self.rows):
            self.rows.append(row)
        else:
            self.rows[place] = row


def _index(row: RequestRow) -> int:
    return row.index
