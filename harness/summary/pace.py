"""Whether requests were sent as fast as they were due."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from harness.record import Record


class PaceState(msgspec.Struct, frozen=True, kw_only=True):
    """What a ``Pace`` has seen.

    Attributes:
        num: Requests that were sent.
        due_ns: First and last of their due times; None for no request.
        sent_ns: First and last of the times at which they were sent; likewise.
    """

    num: int
    due_ns: tuple[int, int] | None
    sent_ns: tuple[int, int] | None


class Pace:
    """First and last of the due times, and of the times of sending, of all requests that were sent.

    Comparing these two leaves out the chance in the arrivals themselves.
    """

    def __init__(self) -> None:
        self._num = 0
        self._due: tuple[int, int] | None = None
        self._sent: tuple[int, int] | None = None

    def add(self, record: Record) -> None:
        """Look at one request."""
        if record.sent_ns is None:
            return
        self._num += 1
        self._due = _widened(self._due, record.due_ns)
        self._sent = _widened(self._sent, record.sent_ns)

    def state(self) -> PaceState:
        """What was seen so far, as a value that can be sent to another process."""
        return PaceState(num=self._num, due_ns=self._due, sent_ns=self._sent)

    def merge(self, other: PaceState) -> None:
        """Add the state of another."""
        self._num += other.num
        for at_ns in other.due_ns or ():
            self._due = _widened(self._due, at_ns)
        for at_ns in other.sent_ns or ():
            self._sent = _widened(self._sent, at_ns)

    def rates(self) -> tuple[float, float] | None:
        """Requests per second as due and as sent; None where too few were sent to have a rate."""
        if self._due is None or self._sent is None:
            return None
        due_ns, sent_ns = self._due[1] - self._due[0], self._sent[1] - self._sent[0]
        if min(due_ns, sent_ns) <= 0:
            return None
        return (self._num - 1) * 1e9 / due_ns, (self._num - 1) * 1e9 / sent_ns


def _widened(span: tuple[int, int] | None, at_ns: int) -> tuple[int, int]:
    return (at_ns, at_ns) if span is None else (min(span[0], at_ns), max(span[1], at_ns))
