"""A warm-up whose end is known only when the run is over."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from harness.metrics import Missing, metric
from harness.steady_state import MIN_SAMPLES, mser5

if TYPE_CHECKING:
    from harness.record import Record
    from harness.window import Window


class WarmUpState(msgspec.Struct, frozen=True, kw_only=True):
    """What a ``WarmUp`` has seen.

    Attributes:
        first_ns: First due time after the requests that are warm-up by their number; None for none.
        last_ns: Last due time.
        due_ns: Due times of the requests whose times are looked at, 64 bits each, little end first.
        values: Their times, floats of 64 bits.
    """

    first_ns: int | None
    last_ns: int
    due_ns: bytes
    values: bytes


class WarmUp:
    """Finds the window of a run that leaves its first requests out by their number, or by their times.

    Takes 16 bytes for each request, and none where the window is known before the run.

    Args:
        window: As the schedule asks for it.

    Attributes:
        cause: Why the run can't be trusted: it never became steady. None where it did.
        note: What was found. None where nothing was looked for.
    """

    def __init__(self, window: Window) -> None:
        self.cause: str | None = None
        self.note: str | None = None
        self._window = window
        self._first_ns: int | None = None
        self._last_ns = 0
        self._due_ns, self._values = array("q"), array("d")

    def add(self, record: Record) -> None:
        """Look at one request, in any order."""
        if record.index >= self._window.warmup_requests:
            due_ns = record.due_ns
            self._first_ns = due_ns if self._first_ns is None else min(self._first_ns, due_ns)
        self._last_ns = max(self._last_ns, record.due_ns)
        if self._window.auto_warmup and record.outcome.succeeded and self._window.measures(record):
            self._due_ns.append(record.due_ns)
            self._values.append(_time_ns(record))

    def state(self) -> WarmUpState:
        """What was seen so far, as a value that can be sent to another process."""
        return WarmUpState(
            first_ns=self._first_ns,
            last_ns=self._last_ns,
            due_ns=self._due_ns.tobytes(),
            values=self._values.tobytes(),
        )

    def merge(self, other: WarmUpState) -> None:
        """Add the state of another."""
        firsts = [first_ns for first_ns in (self._first_ns, other.first_ns) if first_ns is not None]
        self._first_ns = min(firsts, default=None)
        self._last_ns = max(self._last_ns, other.last_ns)
        self._due_ns.frombytes(other.due_ns)
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
        start_ns = self._last_ns + 1 if self._first_ns is None else self._first_ns
        self.note = f"warm-up: the first {num} requests, until {start_ns / 1e9:.3g} s"
        return msgspec.structs.replace(self._window, start_ns=start_ns)

    def _of_times(self) -> Window:
        due_ns = np.frombuffer(self._due_ns, np.int64) if self._due_ns else np.zeros(0, np.int64)
        values = np.frombuffer(self._values) if self._values else np.zeros(0)
        order = np.lexsort((values, due_ns))
        cut = mser5(values[order])
        if cut is None:
            self.cause = self._without_end(due_ns.size)
            return self._window
        start_ns = int(due_ns[order[cut]]) if cut else self._window.start_ns
        self.note = (
            f"warm-up: the first {cut} of {due_ns.size} requests, until {start_ns / 1e9:.3g} s, "
            "found by MSER-5 on their times"
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
