"""Between master and worker: the harness's messages, carried by Locust's."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from typing import TYPE_CHECKING, Final

from locust.exception import RPCError

from harness.event_loop import call_soon
from harness.workers.messages import Done, Failed, decode, encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.workers.messages import Message

NAME: Final = "tokenpace"
"""Of the messages, among Locust's."""
STILL_HERE_S: Final = 1.0
"""Both ends say so often that they are there."""
SILENCE_S: Final = 15.0
"""An end that says nothing for so long is gone."""

_LOG: Final = logging.getLogger(__name__)


class Line:
    """A ``Connection`` between an engine here and one in another of Locust's processes.

    The engine's side is that of ``Connection``; ``take`` and ``say_still_here`` are for greenlets.

    Args:
        send: Hands bytes to Locust; called by a greenlet.
        put: Has a greenlet call something soon, in its order; called from any thread.
        before_end: Called by that greenlet before a worker's last message is sent.

    Attributes:
        is_silent: Whether the other end was found to be gone.
    """

    def __init__(
        self,
        send: Callable[[bytes], None],
        put: Callable[[Callable[[], None]], None],
        before_end: Callable[[], None] = lambda: None,
    ) -> None:
        self.is_silent = False
        self._to_locust = send
        self._put = put
        self._before_end = before_end
        self._waiting: deque[bytes] = deque()
        self._heard_s = time.monotonic()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._filled = asyncio.Event()
        self._is_closed = False

    def take(self, data: bytes) -> None:
        """Bytes have come; none where the other end says that it is there."""
        self._heard_s = time.monotonic()
        if data:
            self._waiting.append(data)
            call_soon(self._loop, self._filled.set)

    def say_still_here(self) -> None:
        """Say so."""
        self._hand_over(b"")

    def leave(self, why: str) -> None:
        """Tell the other end that this one can't go on, and end the work here; from a greenlet."""
        self._hand_over(encode(Failed(message=why)))
        call_soon(self._loop, self._hang_up)

    async def send(self, message: Message) -> None:
        """See ``Connection``. Returns once Locust has it, so that no more of it waits here."""
        loop = self._loop = asyncio.get_running_loop()
        handed_over: asyncio.Future[None] = loop.create_future()
        data = encode(message)

        def hand_over() -> None:
            if isinstance(message, Done):
                self._before_end()
            self._hand_over(data)
            call_soon(loop, _set, handed_over)

        self._put(hand_over)
        await handed_over

    async def receive(self) -> Message | None:
        """See ``Connection``."""
        self._loop = asyncio.get_running_loop()
        while not self._waiting and not self._is_closed:
            self._filled.clear()
            if not self._waiting:  # none came since
                await self._wait()
        return None if self._is_closed else decode(self._waiting.popleft())

    async def close(self) -> None:
        """See ``Connection``."""
        self._hang_up()

    async def _wait(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STILL_HERE_S):
                await self._filled.wait()
        if time.monotonic() - self._heard_s > SILENCE_S:
            self.is_silent = self._is_closed = True

    def _hang_up(self) -> None:
        self._is_closed = True
        self._filled.set()

    def _hand_over(self, data: bytes) -> None:
        try:
            self._to_locust(data)
        except RPCError as error:  # the other end will find it silent
            _LOG.warning("tokenpace: a message could not be sent (%s)", error)


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
