"""A worker as the run's process sees it, wherever it works."""

from __future__ import annotations

import abc
import asyncio
from typing import TYPE_CHECKING, Final

from harness.workers.crew_size import WorkersError
from harness.workers.messages import Beat, Done, Failed, Ready

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from harness.load_status import LoadStatus
    from harness.workers.channel import Connection
    from harness.workers.messages import Message, Order

    Hire: TypeAlias = Callable[[Order], "Member"]

START_S: Final = 300.0
"""A worker must be ready within this time."""
SILENCE_S: Final = 30.0
"""A worker that says nothing for so long is lost, even if its process lives."""


class Member(abc.ABC):
    """One of a crew, and what it said last.

    Args:
        order: What it is to do.

    Attributes:
        order: Likewise.
        lead_ns: From the word to begin to the beginning: it has the word by then.
        status: How its load stands; None before the first beat.
        done: What it ended with; None as long as it hasn't, or if it was lost.
        lost: What became of it, where it did not come to its end; None where it did or may still.
    """

    lead_ns = 300_000_000

    def __init__(self, order: Order) -> None:
        self.order = order
        self.status: LoadStatus | None = None
        self.done: Done | None = None
        self.lost: str | None = None
        self._connection: Connection | None = None

    @property
    def name(self) -> str:
        """Which it is: ``worker 2 of 4``."""
        return f"worker {self.order.worker + 1} of {self.order.num_workers}"

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be expected of it."""
        return self.done is not None or self.lost is not None

    async def start(self) -> None:
        """Find it, give it its order and wait until it is ready for it.

        Raises:
            WorkersError: It isn't to be had.
        """
        self._connection = await self._connect()
        await self.tell(self.order)
        if not isinstance(await self.hear(START_S), Ready):
            raise WorkersError(f"{self.lost}; nothing was sent")

    async def tell(self, message: Message) -> None:
        """Send it a message, unless it is over."""
        if self._connection is not None and not self.is_over:
            await self._connection.send(message)

    async def hear(self, patience_s: float = SILENCE_S) -> Message | None:
        """Its next message; None where it is over. Keeps ``status``, ``done`` and ``lost`` up to date."""
        assert self._connection is not None
        try:
            async with asyncio.timeout(patience_s):
                message = await self._connection.receive()
        except TimeoutError:
            self.lost = f"{self.name} said nothing for {patience_s:g} s"
            return None
        if message is None:
            self.lost = self.lost or f"{self.name} was lost ({await self._how_it_ended()})"
        elif isinstance(message, Failed):
            self.lost = f"{self.name} failed ({message.message})"
        elif isinstance(message, Done):
            self.status, self.done = message.status, message
        elif isinstance(message, Beat):
            self.status = message.status
        return None if self.is_over else message

    @abc.abstractmethod
    def kill(self) -> None:
        """Wait for it no longer, unless it is over."""

    @abc.abstractmethod
    async def end(self) -> None:
        """Hang up, which ends it."""

    @abc.abstractmethod
    async def _connect(self) -> Connection: ...

    @abc.abstractmethod
    async def _how_it_ended(self) -> str:
        """Its connection is gone: why."""
