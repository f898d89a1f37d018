"""The few numbers that are shown while a run goes on."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from harness.metrics import Missing, metric
from reports.histogram import Histogram

if TYPE_CHECKING:
    from harness.record import Record

LATELY_S: Final = 5.0
_US_NS: Final = 1_000
_BIN_NS: Final = 100_000_000
_MANY: Final = 4_096


class LiveState(msgspec.Struct, frozen=True, kw_only=True):
    """What a ``LiveView`` holds.

    Attributes:
        num_ok: Requests that ended well.
        num_failed: Requests that failed.
        lately: Output tokens of the requests that ended in the last seconds; None if none did.
        histograms: Of ``ttft`` and ``tpot``, packed.
    """

    num_ok: int
    num_failed: int
    lately: int | None
    histograms: dict[str, bytes]


class LiveView:
    """Takes records as requests end, or what others took.

    Attributes:
        num_ok: Requests that ended well.
        num_failed: Requests that failed.
    """

    def __init__(self) -> None:
        self.num_ok = 0
        self.num_failed = 0
        self._histograms = {name: Histogram() for name in ("ttft", "tpot")}
        self._taken: dict[str, list[int]] = {name: [] for name in self._histograms}
        self._lately: deque[tuple[int, int]] = deque()

    def add(self, record: Record) -> None:
        """Take one request."""
        self.num_ok += record.outcome.succeeded
        self.num_failed += record.outcome.failed
        self._add_tokens(record.output_tokens or 0)
        if record.outcome.succeeded:
            for name, taken in self._taken.items():
                values = metric(name).values(record, record.due_ns)
                if not isinstance(values, Missing):
                    taken.append(round(values[0] / _US_NS))
                if len(taken) >= _MANY:
                    self._count()

    def _count(self) -> None:
        """Put what was taken into the histograms, many at a time: one by one takes longer."""
        for name, taken in self._taken.items():
            histogram = self._histograms[name]
            histogram.record_many(np.array(taken, np.int64).clip(max=histogram.layout.highest))
            taken.clear()

    def state(self) -> LiveState:
        """What was taken so far, as a value that can be sent to another process."""
        self._count()
        return LiveState(
            num_ok=self.num_ok,
            num_failed=self.num_failed,
            lately=self._tokens_lately(),
            histograms={name: histogram.pack() for name, histogram in self._histograms.items()},
        )

    def merge(self, other: LiveState) -> None:
        """Add the state of another."""
        self.num_ok += other.num_ok
        self.num_failed += other.num_failed
        if other.lately is not None:
            self._add_tokens(other.lately)
        for name, histogram in self._histograms.items():
            histogram.merge(Histogram.unpack(other.histograms[name]))

    def percentile(self, name: str, p: float) -> float | None:
        """A percentile of ``ttft`` or ``tpot`` so far, in ns; None without a sample."""
        self._count()
        histogram = self._histograms[name]
        return histogram.percentile(p) * _US_NS if histogram.n else None

    def tokens_per_s(self) -> float | None:
        """Output tokens of the requests that ended in the last seconds, per second; None if none did."""
        tokens = self._tokens_lately()
        return None if tokens is None else tokens / LATELY_S

    def _add_tokens(self, num: int) -> None:
        place = time.monotonic_ns() // _BIN_NS
        if self._lately and self._lately[-1][0] == place:
            num += self._lately.pop()[1]
        self._lately.append((place, num))

    def _tokens_lately(self) -> int | None:
        oldest = (time.monotonic_ns() - int(LATELY_S * 1e9)) // _BIN_NS
        while self._lately and self._lately[0][0] < oldest:
            self._lately.popleft()
        return sum(tokens for _, tokens in self._lately) if self._lately else None
