"""Lets few pass in one turn of the event loop, so that sockets are read between them."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

PER_TURN: Final = 32
"""Requests begun in one turn: about a millisecond. What arrives meanwhile is stamped so much later."""


class Turnstile:
    """Those who come together pass in order, some in each turn of the loop; whoever comes alone, at once."""

    def __init__(self) -> None:
        self._num_left = PER_TURN
        self._turns = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self) -> None:
        """Pass."""
        if not self._turns:
            self._turns = True
            asyncio.get_running_loop().call_soon(self._turn)
        if self._num_left and not self._waiting:
            self._num_left -= 1
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        await waiter

    def _turn(self) -> None:
        """The loop has read its sockets since the last turn."""
        self._num_left = PER_TURN
        self._turns = bool(self._waiting)
        while self._waiting and self._num_left:
            waiter = self._waiting.popleft()
            if not waiter.done():  # cancelled
                waiter.set_result(None)
                self._num_left -= 1
        if self._turns:
            asyncio.get_running_loop().call_soon(self._turn)
