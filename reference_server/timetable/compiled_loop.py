"""The event loop of C, in the folder ``c``: built at first use, kept in the cache, called through ctypes."""

from __future__ import annotations

import ctypes
import itertools
import os
import signal
import socket
import struct
import sys
from array import array
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from reference_server.c_library import BuildError, CLibrary
from reference_server.timetable.event_loop import LoopError

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.timetable.event_loop import Peer, Run, Wire

_LIBRARY = CLibrary("timetable", Path(__file__).with_name("c"))
_NOBODY = -1
_NO_LINGER = struct.pack("ii", 1, 0)

_Connected = ctypes.CFUNCTYPE(None, ctypes.c_int)
_Received = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64)
_Lost = _Ran = _Connected
_Ring = _Turn = ctypes.CFUNCTYPE(None)


class _Callbacks(ctypes.Structure):
    """``struct callbacks`` of ``loop.h``."""

    _fields_ = (
        ("connected", _Connected),
        ("received", _Received),
        ("lost", _Lost),
        ("ring", _Ring),
        ("turn", _Turn),
        ("ran", _Ran),
    )


class _Vocabulary(ctypes.Structure):
    """``struct vocabulary`` of ``loop.h``."""

    _fields_ = (("words", ctypes.c_char_p), ("starts", ctypes.c_void_p), ("mask", ctypes.c_uint32))


class _RunRequest(ctypes.Structure):
    """``struct run_request`` of ``loop.h``."""

    _fields_ = (
        ("due_ns", ctypes.c_int64),
        ("gap_ns", ctypes.c_int64),
        ("num_events", ctypes.c_int64),
        ("before", ctypes.c_char_p),
        ("after", ctypes.c_char_p),
        ("before_size", ctypes.c_size_t),
        ("after_size", ctypes.c_size_t),
        ("position", ctypes.c_uint32),
        ("stamps", ctypes.c_void_p),
        ("progress", ctypes.c_void_p),
    )


def load_library() -> ctypes.PyDLL:
    """The library, built if need be.

    It keeps the lock of the interpreter while it runs: the process has no other thread, and each call back
    would have to wait for it.

    Raises:
        LoopError: There is no compiler, it failed, or this is not Linux.
    """
    if sys.platform != "linux":
        raise LoopError("the compiled loop needs Linux")
    try:
        library = ctypes.PyDLL(str(_LIBRARY.build()))
    except (BuildError, OSError) as error:
        raise LoopError(str(error)) from error
    loop, fd, size, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t, ctypes.c_char_p
    library.loop_new.restype = loop
    library.loop_new.argtypes = (fd, fd, ctypes.POINTER(_Callbacks), ctypes.POINTER(_Vocabulary))
    library.loop_num_held.restype = size
    for name in ("run", "free", "soon"):
        _declare(library, name, loop)
    for name in ("num_held", "shut", "close", "abort"):
        _declare(library, name, loop, fd)
    _declare(library, "alarm", loop, ctypes.c_int64)
    _declare(library, "read", loop, fd, ctypes.c_bool)
    _declare(library, "hold", loop, fd, text, size)
    _declare(library, "start_run", loop, fd, ctypes.POINTER(_RunRequest))
    return library


def _declare(library: ctypes.PyDLL, name: str, *arguments: type) -> None:
    getattr(library, f"loop_{name}").argtypes = arguments


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
        self._callbacks = _Callbacks(
            _Connected(self._connected),
            _Received(self._received),
            _Lost(self._lost),
            _Ring(self._ring),
            _Turn(self._turn),
            _Ran(self._ran),
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
        vocabulary = _Vocabulary(self._words, self._starts.buffer_info()[0], self._mask)
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
    """See ``event_loop.RunningWire``.

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
        request = _RunRequest(
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
