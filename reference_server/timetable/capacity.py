"""How many requests are served at a time; the others wait in order of arrival."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import monotonic_ns

Begin = Callable[[int], None]
"""Starts a service, given its start in ns."""


class Capacity:
    """A number of slots and a FIFO queue.

    Args:
        max_num_seqs: Slots; None for as many as come.
    """

    def __init__(self, max_num_seqs: int | None = None) -> None:
        self._max_running = max_num_seqs
        self._waiting: deque[Begin] = deque()
        self.num_running = 0

    @property
    def num_waiting(self) -> int:
        """Requests in the queue."""
        return len(self._waiting)

    def enter(self, arrival_ns: int, begin: Begin) -> None:
        """Begin now, with ``arrival_ns`` as the start, or when a slot becomes free."""
        if self._max_running is not None and self.num_running >= self._max_running:
            self._waiting.append(begin)
            return
        self.num_running += 1
        begin(arrival_ns)

    def give_up(self, begin: Begin) -> None:
        """Leave the queue."""
        self._waiting.remove(begin)

    def leave(self) -> None:
        """A service has ended: its slot goes to the one who has waited longest."""
        if not self._waiting:
            self.num_running -= 1
            return
        self._waiting.popleft()(monotonic_ns())
