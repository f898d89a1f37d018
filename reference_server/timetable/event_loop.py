"""What accepts connections, reads them, and rings at the time that is next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from reference_server.timetable.alarm import Alarm
    from reference_server.timetable.wire import Peer, Wire

LoopName = Literal["auto", "compiled", "asyncio"]


class LoopError(RuntimeError):
    """This machine can't have the event loop asked for. The message says why."""


class EventLoop(Protocol):
    """One thread's loop."""

    def alarm(self, ring: Callable[[], None]) -> Alarm:
        """The one alarm of the loop."""

    def call_soon(self, job: Callable[[], None]) -> None:
        """Do it after what is ready to be read has been read."""

    def serve(self, listening: socket.socket, connect: Callable[[Wire], Peer]) -> None:
        """Accept and serve until ``stop``. Connections stay open, and nothing is read from them any more."""

    def stop(self) -> None:
        """Make ``serve`` return; to be called by a signal's handler."""

    def close(self) -> None:
        """End what is left."""
