"""A worker in a process that the run's process starts."""

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
from harness.workers.member import Member

if TYPE_CHECKING:
    from harness.workers.messages import Order

_END_S: Final = 5.0


class WorkerProcess(Member):
    """A process of its own. See ``Member``."""

    def __init__(self, order: Order) -> None:
        super().__init__(order)
        self._process: subprocess.Popen[bytes] | None = None

    async def _connect(self) -> Channel:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = _spawn(theirs.fileno())
        return await Channel.open(ours)

    def kill(self) -> None:
        """End the process at once, unless it is over."""
        if self._process is not None and not self.is_over:
            self._process.kill()

    async def end(self) -> None:
        """Hang up, which ends the process; see that it does."""
        if self._connection is not None:
            await self._connection.close()
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
