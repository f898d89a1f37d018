"""Waiting for instants of the monotonic clock, exactly."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time

from harness.kernel_timer import new_timer


class Pacer:
    """Waits until due times, for as many as want it.

    Attributes:
        num_overdue: So many came when their time was past, and wait for their turn of the loop.
    """

    def __init__(self) -> None:
        self.num_overdue = 0
        self._timer = new_timer(self._wake)
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._tickets = itertools.count()
        self._is_over = False

    async def until(self, due_ns: int) -> None:
        """Return at ``due_ns``, or at the next turn of the loop if that is past or nobody is to wait."""
        if self._is_over or time.monotonic_ns() >= due_ns:
            self.num_overdue += 1
            try:
                await asyncio.sleep(0)
            finally:
                self.num_overdue -= 1
            return
        waiter = asyncio.get_running_loop().create_future()
        entry = (due_ns, next(self._tickets), waiter)
        heapq.heappush(self._waiting, entry)
        if self._waiting[0] is entry:
            self._timer.arm(due_ns)
        await waiter

    def release(self) -> None:
        """Let everybody go who waits, now and later."""
        self._is_over = True
        for _, _, waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
        self._waiting.clear()

    def close(self) -> None:
        """Free the timer; nobody waits any more."""
        self.release()
        self._timer.close()

    def _wake(self) -> None:
        """Let those go whose time has come, and those that were cancelled."""
        now_ns = time.monotonic_ns()
        while self._waiting and (self._waiting[0][0] <= now_ns or self._waiting[0][2].done()):
            _, _, waiter = heapq.heappop(self._waiting)
            if not waiter.done():
                waiter.set_result(None)
        if self._waiting:
            self._timer.arm(self._waiting[0][0])
