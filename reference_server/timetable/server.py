"""The process: listens, says where, and ends cleanly on SIGINT and SIGTERM."""

from __future__ import annotations

import gc
import signal
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from reference_server.timetable.connection import Connection
from reference_server.timetable.intake import Intake
from reference_server.timetable.log import Log
from reference_server.timetable.loops import make_loop
from reference_server.timetable.service import TimetableService
from reference_server.timetable.wheel import TimerWheel
from reference_server.timetable.words import Vocabulary

if TYPE_CHECKING:
    from types import FrameType

    from reference_server.timetable.event_loop import EventLoop
    from reference_server.timetable.options import Options

if sys.platform != "win32":
    import resource

BACKLOG = 4096


class StopSignal:
    """SIGINT or SIGTERM, seen both by the loop and by code that blocks it."""

    def __init__(self, loop: EventLoop) -> None:
        self._loop = loop
        self.seen = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._take)

    def is_seen(self) -> bool:
        """True once a signal has come."""
        return self.seen

    def _take(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.seen = True
        self._loop.stop()


def serve(options: Options) -> None:
    """Serve until a signal comes.

    Raises:
        OSError: The address or the log can't be used.
        LoopError: The event loop asked for can't be had.
    """
    vocabulary = Vocabulary(options.seed)
    loop = make_loop(options.event_loop, vocabulary.tokens)
    log, wheel, intake, stop = Log(options.log), TimerWheel(loop.alarm), Intake(loop), StopSignal(loop)
    service = TimetableService(options, vocabulary, log, wheel, stop.is_seen)
    try:
        with _listen(options.host, options.port) as listening:
            _allow_many_connections()
            _spare_garbage_collection()
            _announce(listening)
            loop.serve(listening, lambda wire: Connection(service, intake, wire))
        service.stop()
    finally:
        wheel.close()
        loop.close()
        log.close()


def _listen(host: str, port: int) -> socket.socket:
    """A listening socket; of a name's addresses that of IPv4, if it has one."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, *_, address = min(found, key=lambda each: each[0] != socket.AF_INET)
    return socket.create_server(address[:2], family=family, backlog=BACKLOG)


def _allow_many_connections() -> None:
    """As many open files as the system lets us have."""
    if sys.platform != "win32":
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        with suppress(ValueError, OSError):  # macOS says "unlimited" and means 10,240
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


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
