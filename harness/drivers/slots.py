"""A cap on the requests in flight, handed on in order of asking."""

from __future__ import annotations

import asyncio
import time
from collections import deque


class Slots:
    """At most ``limit`` taken at a time; None for no cap."""

    def __init__(self, limit: int | None) -> None:
        self._num_free = limit
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self, until_ns: int | None) -> bool:
        """Take a slot, waiting for one if need be; False if none was free by ``until_ns``."""
        if self._num_free is None:
            return True
        if self._num_free > 0:
            self._num_free -= 1
            return True
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        return await self._granted(waiter, until_ns)

    def free(self) -> None:
        """Hand the slot to the first who waits."""
        if self._num_free is None:
            return
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._num_free += 1

    async def _granted(self, waiter: asyncio.Future[None], until_ns: int | None) -> bool:
        if until_ns is None:
            await waiter
            return True
        try:
            async with asyncio.timeout((until_ns - time.monotonic_ns()) / 1e9):
                await waiter
        except TimeoutError:
            return False
        return True
