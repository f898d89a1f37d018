"""Waiting for an instant of the monotonic clock, exactly."""

from __future__ import annotations

import asyncio
import time

from harness.kernel_timer import new_timer


class Pacer:
    """Waits until due times. One waiter at a time."""

    def __init__(self) -> None:
        self._timer = new_timer(self._wake)
        self._waiter: asyncio.Future[None] | None = None

    async def until(self, due_ns: int) -> None:
        """Return at ``due_ns``, or at the next turn of the loop if that is past."""
        if time.monotonic_ns() >= due_ns:
            await asyncio.sleep(0)
            return
        while time.monotonic_ns() < due_ns:
            self._waiter = asyncio.get_running_loop().create_future()
            self._timer.arm(due_ns)
            await self._waiter

    def close(self) -> None:
        """Free the timer."""
        self._timer.close()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
