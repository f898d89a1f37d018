"""The timer wheel: every token of every stream waits here, behind a single alarm."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from time import monotonic_ns
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_server.timetable.alarm import Alarm

Job = Callable[[], None]

SLOT_BITS = 16
SLOT_NS = 1 << SLOT_BITS
"""Jobs due within one slot, 65.5 us, are done together at its end: never early."""


class TimerWheel:
    """Jobs by due time. Adding one costs a dictionary look-up, however many wait.

    Only what waits and is due when the alarm rings is done before the loop reads its sockets again, so that a
    server behind its timetable still takes requests.

    Args:
        make_alarm: Makes the alarm, given what to call when it rings.
    """

    def __init__(self, make_alarm: Callable[[Job], Alarm]) -> None:
        self._alarm = make_alarm(self._ring)
        self._slots: dict[int, list[Job]] = {}
        self._order: list[int] = []
        self._armed = 0
        self._ringing = False

    def add(self, due_ns: int, job: Job) -> None:
        """Do ``job`` at ``due_ns`` or up to a slot later."""
        slot = (due_ns + SLOT_NS - 1) >> SLOT_BITS
        jobs = self._slots.get(slot)
        if jobs is not None:
            jobs.append(job)
            return
        self._slots[slot] = [job]
        heapq.heappush(self._order, slot)
        if not self._ringing and (not self._armed or slot < self._armed):
            self._arm()

    def close(self) -> None:
        """Forget all jobs."""
        self._slots.clear()
        self._order.clear()
        self._alarm.close()

    def _ring(self) -> None:
        self._ringing = True
        try:
            for jobs in self._take_due():
                for job in jobs:
                    job()
        finally:
            self._ringing = False
            self._arm()

    def _take_due(self) -> list[list[Job]]:
        now_slot, due = monotonic_ns() >> SLOT_BITS, []
        while self._order and self._order[0] <= now_slot:
            due.append(self._slots.pop(heapq.heappop(self._order)))
        return due

    def _arm(self) -> None:
        if self._order:
            self._armed = self._order[0]
            self._alarm.set(self._armed << SLOT_BITS)
        else:
            self._armed = 0
            self._alarm.silence()
