"""A warm-up whose end is known only when the run is over."""

from __future__ import annotations

import heapq
import math
from array import array
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from harness.metrics import Missing, metric
from harness.steadiness import Traffic, why_not_steady
from harness.steady_state import MIN_SAMPLES, mser5

if TYPE_CHECKING:
    from harness.record import Record
    from harness.window import Window


class WarmUpState(msgspec.Struct, frozen=True, kw_only=True):
    """What a ``WarmUp`` has seen.

    Attributes:
        firsts_ns: The first due times, one more than there are requests of warm-up by their number.
        last_ns: Last due time.
        due_ns: Due times of the requests whose times are looked at, 64 bits each, little end first.
        done_ns: When they ended, likewise.
        values: Their times, floats of 64 bits; not a number where they failed.
    """

    firsts_ns: list[int]
    last_ns: int
    due_ns: bytes
    done_ns: bytes
    values: bytes


class WarmUp:
    """Finds the window of a run that leaves its first requests out by their number, or by their times.

    Takes 24 bytes for each request where its times are looked at.

    Args:
        window: As the schedule asks for it.

    Attributes:
        cause: Why the run can't be trusted: it never became steady, or didn't stay so. None where it did.
        note: What was found. None where nothing was looked for.
    """

    def __init__(self, window: Window) -> None:
        self.cause: str | None = None
        self.note: str | None = None
        self._window = window
        self._firsts_ns: list[int] = []  # a heap of their negatives: the latest on top
        self._last_ns = 0
        self._due_ns, self._done_ns, self._values = array("q"), array("q"), array("d")

    def add(self, record: Record) -> None:
        """Look at one request, in any order."""
        self._add_first(record.due_ns)
        self._last_ns = max(self._last_ns, record.due_ns)
        if self._window.auto_warmup and self._window.measures(record):
            self._due_ns.append(record.due_ns)
            self._done_ns.append(record.done_ns)
            self._values.append(_time_ns(record) if record.outcome.succeeded else math.nan)

    def _add_first(self, due_ns: int) -> None:
        if len(self._firsts_ns) <= self._window.warmup_requests:
            heapq.heappush(self._firsts_ns, -due_ns)
        else:
            heapq.heappushpop(self._firsts_ns, -due_ns)

    def state(self) -> WarmUpState:
        """What was seen so far, as a value that can be sent to another process."""
        return WarmUpState(
            firsts_ns=sorted(-each for each in self._firsts_ns),
            last_ns=self._last_ns,
            due_ns=self._due_ns.tobytes(),
            done_ns=self._done_ns.tobytes(),
            values=self._values.tobytes(),
        )

    def merge(self, other: WarmUpState) -> None:
        """Add the state of another."""
        for due_ns in other.firsts_ns:
            self._add_first(due_ns)
        self._last_ns = max(self._last_ns, other.last_ns)
        self._due_ns.frombytes(other.due_ns)
        self._done_ns.frombytes(other.done_ns)
        self._values.frombytes(other.values)

    def window(self) -> Window:
        """The window of the requests so far. Sets ``cause`` and ``note``."""
        self.cause = self.note = None
        if self._window.auto_warmup:
            return self._of_times()
        if self._window.warmup_requests:
            return self._of_number()
        return self._window

    def _of_number(self) -> Window:
        num = self._window.warmup_requests
        start_ns = -self._firsts_ns[0] if len(self._firsts_ns) > num else self._last_ns + 1
        self.note = f"warm-up: the first {num} requests, until {start_ns / 1e9:.3g} s"
        return msgspec.structs.replace(self._window, start_ns=start_ns)

    def _of_times(self) -> Window:
        due_ns, done_ns, values = np.array(self._due_ns), np.array(self._done_ns), np.array(self._values)
        order = np.lexsort((values, due_ns))
        order = order[~np.isnan(values[order])]
        cut = mser5(values[order])
        if cut is None:
            self.cause = self._without_end(order.size)
            return self._window
        start_ns = int(due_ns[order[cut]]) if cut else self._window.start_ns
        unsteady = why_not_steady(values[order[cut:]], Traffic(due_ns, done_ns, start_ns))
        self.cause = unsteady and f"no steady state after the warm-up: {unsteady}"
        self.note = (
            f"warm-up: the first {cut} of {order.size} requests, until {start_ns / 1e9:.3g} s, "
            "found by MSER-5 on their times" + ("" if unsteady else "; the rest is steady")
        )
        return msgspec.structs.replace(self._window, start_ns=start_ns)

    def _without_end(self, num: int) -> str:
        if num < MIN_SAMPLES:
            return (
                f"warmup: auto needs {MIN_SAMPLES} requests that succeeded and {num} did: "
                "run longer, or give the warm-up a length"
            )
        return (
            "no steady state: the times of the requests were still on their way in the second half of "
            "the run; run longer, lower the load, or give the warm-up a length"
        )


def _time_ns(record: Record) -> float:
    """The response TTFT; where the answer didn't come as a stream, the whole time."""
    (time_ns,) = _values(record, "ttft") or _values(record, "e2e")
    return time_ns


def _values(record: Record, name: str) -> tuple[float, ...]:
    values = metric(name).values(record, record.due_ns)
    return () if isinstance(values, Missing) else tuple(values)
