"""Requests wait here for the fraction of a millisecond in which others are still being read.

To render an answer's beginning takes longer than to read a request. In a burst, therefore, all are read and
stamped first, so that their arrival times are not those of a queue within the server.
"""

from __future__ import annotations

from collections import deque
from time import monotonic_ns
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.timetable.event_loop import EventLoop

_TURN_NS = 100_000


class Intake:
    """Jobs to be done in order, a tenth of a millisecond at a time, between turns of the event loop."""

    def __init__(self, loop: EventLoop) -> None:
        self._loop = loop
        self._jobs: deque[Callable[[], None]] = deque()

    def put(self, job: Callable[[], None]) -> None:
        """Do it after what is ready to be read has been read."""
        if not self._jobs:
            self._loop.call_soon(self._work)
        self._jobs.append(job)

    def _work(self) -> None:
        until_ns = monotonic_ns() + _TURN_NS
        while self._jobs:
            self._jobs.popleft()()
            if monotonic_ns() > until_ns:
                break
        if self._jobs:
            self._loop.call_soon(self._work)
