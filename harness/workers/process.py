"""A worker as the run's process sees it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from harness.workers.channel import Channel
from harness.workers.crew_size import WorkersError
from harness.workers.messages import Beat, Done, Failed, Ready

if TYPE_CHECKING:
    from harness.load_status import LoadStatus
    from harness.workers.messages import Message, Order

START_S: Final = 300.0
"""A worker must be ready within this time."""
SILENCE_S: Final = 30.0
"""A worker that says nothing for so long is lost, even if its process lives."""
_END_S: Final = 5.0


class WorkerProcess:
    """A process, and what it said last.

    Args:
        order: What it is to do.

    Attributes:
        order: Likewise.
        status: How its load stands; None before the first beat.
        done: What it ended with; None as long as it hasn't, or if it was lost.
        lost: What became of it, where it did not come to its end; None where it did or may still.
    """

    def __init__(self, order: Order) -> None:
        self.order = order
        self.status: LoadStatus | None = None
        self.done: Done | None = None
        self.lost: str | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None

    @property
    def name(self) -> str:
        """Which it is: ``worker 2 of 4``."""
        return f"worker {self.order.worker + 1} of {self.order.num_workers}"

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be expected of it."""
        return self.done is not None or self.lost is not None

    async def start(self) -> None:
        """Start the process, give it its order and wait until it is ready for it.

        Raises:
            WorkersError: It isn't to be had.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = _spawn(theirs.fileno())
        self._channel = await Channel.open(ours)
        await self.tell(self.order)
        if not isinstance(await self.hear(START_S), Ready):
            raise WorkersError(f"{self.lost}; nothing was sent")

    async def tell(self, message: Message) -> None:
        """Send it a message, unless it is over."""
        if self._channel is not None and not self.is_over:
            await self._channel.send(message)

    async def hear(self, patience_s: float = SILENCE_S) -> Message | None:
        """Its next message; None where it is over. Keeps ``status``, ``done`` and ``lost`` up to date."""
        assert self._channel is not None
        try:
            async with asyncio.timeout(patience_s):
                message = await self._channel.receive()
        except TimeoutError:
            self.lost = f"{self.name} said nothing for {patience_s:g} s"
            return None
        if message is None:
            self.lost = f"{self.name} was lost ({await self._how_it_ended()})"
        elif isinstance(message, Failed):
            self.lost = f"{self.name} failed ({message.message})"
        elif isinstance(message, Done):
            self.status, self.done = message.status, message
        elif isinstance(message, Beat):
            self.status = message.status
        return None if self.is_over else message

    def kill(self) -> None:
        """End the process at once, unless it is over."""
        if self._process is not None and not self.is_over:
            self._process.kill()

    async def end(self) -> None:
        """Hang up, which ends the process; see that it does."""
        if self._channel is not None:
            await self._channel.close()
        if self._process is not None and not await self._has_ended(_END_S):
            self._process.kill()
            await self._has_ended(_END_S)

    async def _how_it_ended(self) -> str:
        assert self._process is not None
        if not await self._has_ended(_END_S):
            return "it hung up"
        code = self._process.returncode
        if code >= 0:
            return f"exit code {code}"
        with contextlib.suppress(ValueError):
            return f"killed by {signal.Signals(-code).name}"
        return f"killed by signal {-code}"

    async def _has_ended(self, within_s: float) -> bool:
        assert self._process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            await asyncio.to_thread(self._process.wait, within_s)
        return self._process.poll() is not None


def _spawn(connection: int) -> subprocess.Popen[bytes]:
    """A new program that finds the modules that this one does, whatever lies in the working directory."""
    paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
    return subprocess.Popen(  # noqa: S603 (our own module, no shell)
        [sys.executable, "-P", "-m", "harness.workers", str(connection)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=(connection,),
        process_group=0,  # so that Ctrl-C in a terminal reaches the run's process alone
        env={**os.environ, "PYTHONPATH": paths},
    )
