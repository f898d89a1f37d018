"""A worker on a machine of its own: with another clock, and a disk that the run's process doesn't see."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.workers.crew_size import WorkersError
from harness.workers.member import SILENCE_S, Member
from harness.workers.messages import AskTime, Piece, Start, Time

if TYPE_CHECKING:
    from harness.workers.channel import Connection
    from harness.workers.messages import Message, Order

NUM_ASKED: Final = 9
_TIME_S: Final = 30.0


class RemoteWorker(Member):
    """One that is there already, and is reached over a connection. See ``Member``.

    Its journal comes in pieces, which become the file that its order names. Times in it count from the start,
    as everywhere; only the start itself is told by the clock of the worker's machine. How far that one is
    ahead is asked several times, and taken from the answer that came soonest: wrong by no more than half the
    time that it took.

    Args:
        order: What it is to do.
        connection: To it.
        label: By which its owner knows it.

    Attributes:
        ahead_ns: So much more than ours its monotonic clock shows.
    """

    lead_ns = 1_000_000_000

    def __init__(self, order: Order, connection: Connection, label: str) -> None:
        super().__init__(order)
        self.ahead_ns = 0
        self._to_it = connection
        self._label = label
        self._hanging_up: asyncio.Future[None] | None = None

    @property
    def name(self) -> str:
        """Which it is: ``worker 2 of 4 (host_1f0c)``."""
        return f"{super().name} ({self._label})"

    async def start(self) -> None:
        """See ``Member``. Compares the clocks too."""
        await super().start()
        soonest_ns: int | None = None
        for _ in range(NUM_ASKED):
            asked_ns = time.monotonic_ns()
            await self.tell(AskTime())
            answer = await self.hear(_TIME_S)
            took_ns = time.monotonic_ns() - asked_ns
            if not isinstance(answer, Time):
                raise WorkersError(f"{self.lost}; nothing was sent")
            if soonest_ns is None or took_ns < soonest_ns:
                soonest_ns, self.ahead_ns = took_ns, answer.now_ns - asked_ns - took_ns // 2

    async def tell(self, message: Message) -> None:
        """See ``Member``. A start is told by its clock."""
        if isinstance(message, Start):
            message = Start(at_ns=message.at_ns + self.ahead_ns)
        await super().tell(message)

    async def hear(self, patience_s: float = SILENCE_S) -> Message | None:
        """See ``Member``. Lines of its journal are written down; where they can't be, it is given up."""
        message = await super().hear(patience_s)
        if isinstance(message, Piece):
            self._write(message.lines)
        return None if self.is_over else message

    def _write(self, lines: bytes) -> None:
        path = Path(self.order.journal)
        try:
            with path.open("ab") as file:
                file.write(lines)
        except OSError as error:
            self.lost = f"{self.name} was given up ({path}: cannot be written, {error.strerror})"

    def kill(self) -> None:
        """Wait for it no longer, unless it is over: its process is none of ours."""
        if not self.is_over:
            self.lost = f"{self.name} did not end when it was told to"
            self._hanging_up = asyncio.ensure_future(self._to_it.close())

    async def end(self) -> None:
        """Hang up, which ends its work."""
        await self._to_it.close()

    async def _connect(self) -> Connection:
        return self._to_it

    async def _how_it_ended(self) -> str:
        return "it is heard of no more"
