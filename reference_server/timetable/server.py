"""The process: listens, says where, and ends cleanly on SIGINT and SIGTERM."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from typing import TYPE_CHECKING

from reference_server.timetable.connection import Connection
from reference_server.timetable.intake import Intake
from reference_server.timetable.log import Log
from reference_server.timetable.service import TimetableService
from reference_server.timetable.wheel import TimerWheel

if TYPE_CHECKING:
    import socket
    from types import FrameType

    from reference_server.timetable.options import Options

BACKLOG = 4096


class StopSignal:
    """SIGINT or SIGTERM, seen both by the loop and by code that blocks it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._come = asyncio.Event()
        self.seen = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._take)

    async def wait(self) -> None:
        """Return once a signal has come."""
        await self._come.wait()

    def is_seen(self) -> bool:
        """True once a signal has come."""
        return self.seen

    def _take(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.seen = True
        self._loop.call_soon_threadsafe(self._come.set)


async def serve(options: Options) -> None:
    """Serve until a signal comes.

    Raises:
        OSError: The address or the log can't be used.
    """
    loop = asyncio.get_running_loop()
    log, wheel, intake, stop = Log(options.log), TimerWheel(loop), Intake(loop), StopSignal(loop)
    service = TimetableService(options, log, wheel, stop.is_seen)
    try:
        server = await loop.create_server(
            lambda: Connection(service, intake), options.host, options.port, backlog=BACKLOG
        )
        _spare_garbage_collection()
        _announce(server.sockets[0])
        await stop.wait()
        server.close()
        service.stop()
        await asyncio.sleep(0)
    finally:
        wheel.close()
        log.close()


def _spare_garbage_collection() -> None:
    """Streams leave no cycles worth a pause: look for garbage seldom, and never at what is loaded by now."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


def _announce(listening: socket.socket) -> None:
    host, port = listening.getsockname()[:2]
    address = f"[{host}]" if ":" in host else host
    sys.stdout.write(f"timetable server on http://{address}:{port}\n")
    sys.stdout.flush()
