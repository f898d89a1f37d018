"""Event loops: what accepts connections, reads them, and rings at the time that is next.

``compiled`` is one of C, made for this server and compiled at first use; besides, it sends on its own the
events of an answer that differ in nothing but a word. ``asyncio`` needs no compiler and takes about twice the
CPU for each token. The answers are the same.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    import socket
    from array import array
    from collections.abc import Callable

    from reference_server.timetable.alarm import Alarm

LoopName = Literal["auto", "compiled", "asyncio"]


class LoopError(RuntimeError):
    """This machine can't have the event loop asked for. The message says why."""


class Run(NamedTuple):
    """Events that are alike but for their word, each in a chunk of its own.

    Attributes:
        due_ns: When the first is due.
        gap_ns: From one to the next.
        num_events: One word each.
        before: Bytes before the word.
        after: Bytes after it.
        position: Of the first word in the vocabulary.
    """

    due_ns: int
    gap_ns: int
    num_events: int
    before: bytes
    after: bytes
    position: int


class Wire(Protocol):
    """A connection's socket, and what the kernel has not yet taken of what was written."""

    fd: int

    @property
    def num_held(self) -> int:
        """Bytes held."""

    def hold(self, data: bytes) -> None:
        """Write later, as soon as the kernel takes it."""

    def pause_reading(self) -> None:
        """Leave what the client sends to the kernel."""

    def resume_reading(self) -> None:
        """Read again."""

    def end_writing(self) -> None:
        """Tell the client that nothing follows what is held."""

    def close(self) -> None:
        """End once what is held is written; ``Peer.lost`` follows, never from within."""

    def abort(self) -> None:
        """End at once; ``Peer.lost`` follows, never from within."""

    def reset(self) -> None:
        """The same, with a TCP reset."""


@runtime_checkable
class RunningWire(Wire, Protocol):
    """A wire that carries out runs."""

    def run(self, run: Run, stamps: array[int], progress: array[int], ended: Callable[[], None]) -> None:
        """Write the events when they are due.

        Args:
            run: What is written.
            stamps: Its last ``num_events`` items get the time just before each write. Not to be resized.
            progress: Gets the number of events written, the worst delay in ns, and how many were held.
            ended: Called when all are written, or when too much is held.
        """


class Peer(Protocol):
    """What is told of a connection."""

    def received(self, data: bytes, stamp_ns: int) -> None:
        """Bytes of the client, and when they were read."""

    def lost(self) -> None:
        """The connection is over; told once."""


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


def make_loop(name: LoopName, words: list[bytes]) -> EventLoop:
    """The loop of that name; ``auto`` is the compiled one wherever it can be had.

    Args:
        name: Which.
        words: The vocabulary: a power of two of them.

    Raises:
        LoopError: The compiled one was asked for and can't be had.
    """
    from reference_server.timetable.asyncio_loop import AsyncioLoop

    if name == "asyncio":
        return AsyncioLoop()
    from reference_server.timetable.compiled_loop import CompiledLoop

    try:
        return CompiledLoop(words)
    except LoopError as error:
        if name == "compiled":
            raise
        sys.stderr.write(f"timetable: asyncio serves, with half the pace: {error}\n")
        return AsyncioLoop()
