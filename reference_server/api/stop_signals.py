"""SIGTERM and SIGINT: the first asks the server to finish, the second leaves at once."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")


class StoppedError(Exception):
    """A signal came before the work was done."""


class StopSignals:
    """Listens from construction on; made inside the event loop."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._event = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self._on_signal, number)

    async def wait(self) -> None:
        """Return once the first signal has come."""
        await self._event.wait()

    async def unless_stopped(self, work: Coroutine[Any, Any, T]) -> T:
        """Do ``work``, or break it off when a signal comes.

        Raises:
            StoppedError: A signal came first.
        """
        working, stopping = asyncio.ensure_future(work), asyncio.ensure_future(self.wait())
        try:
            await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise StoppedError
            return working.result()
        finally:
            working.cancel()
            stopping.cancel()
            await asyncio.wait({working, stopping})

    def _on_signal(self, number: signal.Signals) -> None:
        if self.received is not None:
            sys.stdout.flush()
            os._exit(128 + number)  # the engine's process sees its parent go and follows
        self.received = number
        self._event.set()
