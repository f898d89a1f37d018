"""A connection's socket, and what is told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable

    from reference_server.timetable.run import Run


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
