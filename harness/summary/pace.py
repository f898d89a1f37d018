"""Whether requests were sent as fast as they were due."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.record import Record


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
