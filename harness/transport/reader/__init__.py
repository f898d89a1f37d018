"""Reads sockets on a thread of its own, in C, so that no stamp waits for Python.

An event loop gets to a socket when it has done with the one before: with hundreds of streams each of their
chunks waits for Python to have dealt with all those that came at the same time, and for every request that is
being sent. The thread does nothing but read and stamp; it takes no interpreter lock. Python looks at a socket
when the thread calls: where an answer may be over, much has gathered, or the socket was closed. Until
then chunks cost no Python at all; what has gathered is handed over with the stamp of each read.
"""

from __future__ import annotations

import asyncio
import ctypes
from array import array
from typing import TYPE_CHECKING, Final

from harness.transport.reader.library import NoReaderError, Taken, load_library

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["NoReaderError", "Reader", "Reads", "Source"]

_MOST_CALLED: Final = 256
_MOST_LAGS: Final = 4_096
_READING, _AT_END = 0, 1


class Reads:
    """What has come from a socket.

    Attributes:
        data: All bytes.
        columns: Four for each read: monotonic stamp in ns, number of bytes, delay since the kernel had it in
            ns or -1, wall clock minus monotonic clock in ns.
        is_over: True once nothing more will come.
        error: ``errno`` where the socket broke, else 0.
    """

    __slots__ = ("columns", "data", "error", "is_over")

    def __init__(self, taken: Taken) -> None:
        num = taken.num_reads
        self.columns = array("q", ctypes.string_at(taken.reads, 32 * num)) if num else array("q")
        self.data = ctypes.string_at(taken.data, sum(self.columns[1::4])) if num else b""
        self.is_over = taken.state != _READING
        self.error = taken.error if self.is_over and taken.state != _AT_END else 0


class Reader:
    """The thread, and who is to be told about which socket. It ends with ``close``.

    Args:
        marks: With which streams end.

    Raises:
        NoReaderError: It can't be had here.
    """

    def __init__(self, marks: Sequence[bytes]) -> None:
        self._library = load_library()
        sizes = (ctypes.c_int64 * len(marks))(*map(len, marks))
        self._handle = self._library.reader_new(b"".join(marks), sizes, len(marks))
        if not self._handle:
            raise NoReaderError("the system has no thread, epoll or timer left")
        self._loop = asyncio.get_running_loop()
        self._listeners: dict[int, Callable[[], None]] = {}
        self._num_sources = 0
        self._called = (ctypes.c_int64 * _MOST_CALLED)()
        self._bell = self._library.reader_bell(self._handle)
        self._loop.add_reader(self._bell, self._answer)

    def add(self, fd: int, on_call: Callable[[], None]) -> Source:
        """Read a socket from now on; ``on_call`` is called on the event loop when it should be looked at.

        Raises:
            OSError: The system has no room for it.
        """
        number = self._num_sources
        handle = self._library.source_new(self._handle, fd, number)
        if not handle:
            raise OSError("the system has no memory left for another socket")
        self._num_sources += 1
        self._listeners[number] = on_call
        return Source(self._library, handle, lambda: self._listeners.pop(number))

    def lags_ns(self) -> list[int]:
        """How late the thread got to each probe since it was asked last."""
        lags = (ctypes.c_int64 * _MOST_LAGS)()
        return lags[: self._library.reader_lags(self._handle, lags, _MOST_LAGS)]

    def close(self) -> None:
        """End the thread. Every source must have been closed."""
        assert not self._listeners
        self._loop.remove_reader(self._bell)
        self._library.reader_free(self._handle)

    def _answer(self) -> None:
        num = self._library.reader_called(self._handle, self._called, _MOST_CALLED)
        for number in self._called[:num]:
            if listener := self._listeners.get(number):
                listener()


class Source:
    """A socket that the thread reads.

    Args:
        library: The C functions.
        handle: Of the socket in C.
        on_close: Called when it is closed.
    """

    __slots__ = ("_handle", "_library", "_on_close", "_taken")

    def __init__(self, library: ctypes.PyDLL, handle: int, on_close: Callable[[], object]) -> None:
        self._library = library
        self._handle = handle
        self._on_close = on_close
        self._taken = Taken()

    def take(self) -> Reads:
        """What has come since asked last."""
        self._library.source_take(self._handle, ctypes.byref(self._taken))
        return Reads(self._taken)

    def call_always(self, always: bool) -> None:
        """Whether every read is to be looked at, or only what may end a body in chunks."""
        self._library.source_call_always(self._handle, always)

    def close(self) -> None:
        """Read it no longer. The socket stays open."""
        self._library.source_free(self._handle)
        self._on_close()
