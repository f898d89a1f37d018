"""Whether an open loop sends more than the server can do.

Under more load than it can do a server falls behind for ever: the requests in flight become more and more,
and each waits longer than the one before. Both must be so, and the beginning of the run, when the first
requests fill the server, is left out: what is looked at is the later half of the run so far.

The number in flight is a sum of comings and goings. A straight line fitted to such a sum, with Student's
error, sees trends where there are none, since neighbouring values hang together (a spurious regression:
Granger and Newbold 1974). So a slope is tested by its steps from batch to batch of time, ten equal ones,
which at the edge of saturation are nearly independent and below it cancel each other: Student's t against
0, one-sided. The response times are tested likewise, by the steps of their batch means.

The test is repeated as the run goes on. The k-th look spends alpha / (k (k + 1)) of its chance of a false
alarm, so that all looks together spend no more than alpha.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from harness.metrics import Missing, metric
from harness.steady_state import chance_of_growth

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.record import Record
    from harness.steady_state import FloatArray

CONFIDENCE: Final = 0.95
"""Over all looks of a run. Simulated queues below saturation raise one false alarm in a hundred runs."""
BATCHES: Final = 10
MIN_GROWTH: Final = 5
"""Fewer requests more than before are no queue."""
_MIN_PER_BATCH: Final = 3
_LOOK_EVERY: Final = 0.1
_BIN_NS: Final = 100_000_000


Bin: TypeAlias = tuple[int, int, int, float]
"""A tenth of a second: its number, the growth of the requests in flight, number and sum of waits in ns."""


class Bins:
    """Takes what is begun and what has ended, for a ``Saturation`` elsewhere that sees the whole load."""

    def __init__(self) -> None:
        self._bins: defaultdict[int, list[float]] = defaultdict(lambda: [0, 0, 0.0])

    def begun(self, at_ns: int) -> None:
        """A request was begun, so long after the start."""
        self._bins[at_ns // _BIN_NS][0] += 1

    def ended(self, record: Record) -> None:
        """A request has ended."""
        values, wait_ns = self._bins[record.done_ns // _BIN_NS], _wait_ns(record)
        values[0] -= 1
        if wait_ns is not None:
            values[1] += 1
            values[2] += wait_ns

    def take(self) -> list[Bin]:
        """All that came since the last time."""
        bins = [(place, int(step), int(num), sum_ns) for place, (step, num, sum_ns) in self._bins.items()]
        self._bins.clear()
        return bins


class Saturation:
    """Takes what is begun and what has ended, and says when it has seen enough.

    Args:
        after_ns: The first look, so long after the start. The next looks follow each when the run is a tenth
            longer.
    """

    def __init__(self, after_ns: int) -> None:
        self._next_look_ns = after_ns
        self._num_looks = 0
        self._steps, self._num_waits = array("q"), array("q")
        self._waits_ns = array("d")

    def begun(self, at_ns: int) -> None:
        """A request was begun, so long after the start."""
        self._steps[self._bin(at_ns)] += 1

    def ended(self, record: Record) -> None:
        """A request has ended."""
        place = self._bin(record.done_ns)
        self._steps[place] -= 1
        wait_ns = _wait_ns(record)
        if wait_ns is not None:
            self._num_waits[place] += 1
            self._waits_ns[place] += wait_ns

    def merge(self, bins: Iterable[Bin]) -> None:
        """Take what ``Bins`` took."""
        for place, step, num_waits, sum_ns in bins:
            self._bin(place * _BIN_NS)
            self._steps[place] += step
            self._num_waits[place] += num_waits
            self._waits_ns[place] += sum_ns

    def _bin(self, at_ns: int) -> int:
        place = at_ns // _BIN_NS
        for column in (self._steps, self._num_waits, self._waits_ns):
            column.extend([0] * (place + 1 - len(column)))
        return place

    def look(self, now_ns: int) -> str | None:
        """The finding in words, once there is one.

        Args:
            now_ns: Since the start. Until the time of the next look this does nothing.
        """
        if now_ns < self._next_look_ns:
            return None
        self._next_look_ns = now_ns + round(_LOOK_EVERY * now_ns)
        self._num_looks += 1
        alpha = (1 - CONFIDENCE) / (self._num_looks * (self._num_looks + 1))
        end = min(now_ns // _BIN_NS, len(self._steps))
        length = end // 2 // BATCHES
        return self._finding(end - length * BATCHES, length, alpha) if length else None

    def _finding(self, begin: int, length: int, alpha: float) -> str | None:
        """What the ten batches of ``length`` bins from ``begin`` on say."""
        steps = _batches(self._steps, begin, length)
        before = int(np.sum(np.frombuffer(self._steps, np.int64)[:begin]))
        growth = int(steps.sum())
        if growth < MIN_GROWTH or chance_of_growth(steps) > alpha:
            return None
        nums = _batches(self._num_waits, begin, length)
        if nums.min() < _MIN_PER_BATCH:
            return None
        waits_ns = _batches(self._waits_ns, begin, length) / nums
        if chance_of_growth(np.diff(waits_ns)) > alpha:
            return None
        seconds = begin * _BIN_NS / 1e9, (begin + BATCHES * length) * _BIN_NS / 1e9
        return (
            f"from {seconds[0]:.3g} to {seconds[1]:.3g} s the requests in flight grew from {before} to "
            f"{before + growth} and the response times from {waits_ns[0] / 1e9:.3g} to "
            f"{waits_ns[-1] / 1e9:.3g} s: more was sent than the server can do (stop.saturation)"
        )


def _batches(column: array[Any], begin: int, length: int) -> FloatArray:
    """The sum of each of the ten batches."""
    values = np.array(column[begin : begin + BATCHES * length], np.float64)
    return np.asarray(values.reshape(BATCHES, length).sum(axis=1), np.float64)


def _wait_ns(record: Record) -> float | None:
    """The response TTFT, or the whole time of an answer in one piece; None for a request without either."""
    if record.outcome.succeeded:
        for name in ("ttft", "e2e"):
            values = metric(name).values(record, record.due_ns)
            if not isinstance(values, Missing):
                return float(values[0])
    return None
