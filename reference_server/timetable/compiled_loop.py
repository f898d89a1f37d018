"""The event loop of C."""

from __future__ import annotations

import ctypes
import itertools
import os
import signal
import socket
import struct
from array import array
from collections import deque
from typing import TYPE_CHECKING

from reference_server.timetable.compiled_library import (
    Callbacks,
    Connected,
    Lost,
    Ran,
    Received,
    Ring,
    RunRequest,
    Turn,
    Vocabulary,
    load_library,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.timetable.run import Run
    from reference_server.timetable.wire import Peer, Wire

_NOBODY = -1
_NO_LINGER = struct.pack("ii", 1, 0)


class CompiledLoop:
    """See ``event_loop.EventLoop``.

    Args:
        words: The vocabulary: a power of two of them.

    Raises:
        LoopError: It can't be had here.
    """

    def __init__(self, words: list[bytes]) -> None:
        self.library = load_library()
        self._words = b"".join(words)
        self._starts = array("I", itertools.accumulate(map(len, words), initial=0))
        self._mask = len(words) - 1
        self._callbacks = Callbacks(
            Connected(self._connected),
            Received(self._received),
            Lost(self._lost),
            Ring(self._ring),
            Turn(self._turn),
            Ran(self._ran),
        )
        self.handle: int | None = None
        self._peers: dict[int, tuple[CompiledWire, Peer]] = {}
        self.ended: dict[int, Callable[[], None]] = {}
        self._jobs: deque[Callable[[], None]] = deque()
        self._stopped = False

    def alarm(self, ring: Callable[[], None]) -> CompiledAlarm:
        """The loop's timerfd."""
        self._ring_back = ring
        return CompiledAlarm(self)

    def call_soon(self, job: Callable[[], None]) -> None:
        """In the next turn."""
        self._jobs.append(job)
        self.library.loop_soon(self.handle)

    def serve(self, listening: socket.socket, connect: Callable[[Wire], Peer]) -> None:
        """Until ``stop``."""
        self._connect = connect
        listening.setblocking(False)
        woken, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(waker)
        vocabulary = Vocabulary(self._words, self._starts.buffer_info()[0], self._mask)
        self.handle = self.library.loop_new(listening.fileno(), woken, self._callbacks, vocabulary)
        if not self.handle:
            raise OSError("the system has no epoll or timerfd left for the compiled loop")
        while not self._stopped:
            self.library.loop_run(self.handle)
            os.read(woken, 64)

    def stop(self) -> None:
        """The signal has woken the loop."""
        self._stopped = True

    def close(self) -> None:
        """End what is left."""
        signal.set_wakeup_fd(-1)
        if self.handle:
            self.library.loop_free(self.handle)
            self.handle = None

    def _connected(self, fd: int) -> None:
        wire = CompiledWire(self, fd)
        self._peers[fd] = wire, self._connect(wire)

    def _received(self, fd: int, data: int, size: int, stamp_ns: int) -> None:
        self._peers[fd][1].received(ctypes.string_at(data, size), stamp_ns)

    def _lost(self, fd: int) -> None:
        self.ended.pop(fd, None)
        wire, peer = self._peers.pop(fd)
        wire.fd = _NOBODY
        peer.lost()

    def _ring(self) -> None:
        self._ring_back()

    def _turn(self) -> None:
        for _ in range(len(self._jobs)):
            self._jobs.popleft()()

    def _ran(self, fd: int) -> None:
        self.ended.pop(fd)()


class CompiledAlarm:
    """See ``alarm.Alarm``."""

    def __init__(self, loop: CompiledLoop) -> None:
        self._loop = loop

    def set(self, due_ns: int) -> None:
        """Ring then."""
        self._loop.library.loop_alarm(self._loop.handle, max(due_ns, 1))

    def silence(self) -> None:
        """Don't ring."""
        self._loop.library.loop_alarm(self._loop.handle, 0)

    def close(self) -> None:
        """It ends with the loop."""


class CompiledWire:
    """See ``wire.RunningWire``.

    Attributes:
        fd: The socket, that of nobody once the connection is over: another may have the number by then.
    """

    def __init__(self, loop: CompiledLoop, fd: int) -> None:
        self._loop, self._library, self.fd = loop, loop.library, fd

    @property
    def num_held(self) -> int:
        """In the buffer of the loop."""
        return int(self._library.loop_num_held(self._loop.handle, self.fd))

    def hold(self, data: bytes) -> None:
        """The loop writes it."""
        self._library.loop_hold(self._loop.handle, self.fd, data, len(data))

    def pause_reading(self) -> None:
        """Stop reading."""
        self._library.loop_read(self._loop.handle, self.fd, False)

    def resume_reading(self) -> None:
        """Read again."""
        self._library.loop_read(self._loop.handle, self.fd, True)

    def end_writing(self) -> None:
        """Half-close."""
        self._library.loop_shut(self._loop.handle, self.fd)

    def close(self) -> None:
        """End politely."""
        self._library.loop_close(self._loop.handle, self.fd)

    def abort(self) -> None:
        """End at once."""
        self._library.loop_abort(self._loop.handle, self.fd)

    def reset(self) -> None:
        """End with a reset."""
        with socket.socket(fileno=os.dup(self.fd)) as itself:
            itself.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self.abort()

    def run(self, run: Run, stamps: array[int], progress: array[int], ended: Callable[[], None]) -> None:
        """The loop copies what it needs but for the arrays."""
        first_stamp = stamps.buffer_info()[0] + (len(stamps) - run.num_events) * stamps.itemsize
        self._loop.ended[self.fd] = ended
        request = RunRequest(
            run.due_ns,
            run.gap_ns,
            run.num_events,
            run.before,
            run.after,
            len(run.before),
            len(run.after),
            run.position,
            first_stamp,
            progress.buffer_info()[0],
        )
        self._library.loop_start_run(self._loop.handle, self.fd, request)
