"""A timer that is never early and late by tens of microseconds only: event loops round to a millisecond."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import sys
import time
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

_CLOCK_MONOTONIC: Final = 1
_TFD_TIMER_ABSTIME: Final = 1


class Timer(Protocol):
    """Calls back once at the armed time. Arming again replaces the earlier time."""

    def arm(self, at_ns: int) -> None:
        """Call back at ``at_ns`` of the monotonic clock, at once if that is past."""

    def close(self) -> None:
        """Never call back again."""


def new_timer(callback: Callable[[], None]) -> Timer:
    """The best timer of this platform, on the running loop."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, NotImplementedError, AttributeError):
            return KernelTimer(callback)
    return LoopTimer(callback)


class LoopTimer:
    """By the event loop's own clock: up to a millisecond early or late on uvloop."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback = callback
        self._handle: asyncio.TimerHandle | None = None

    def arm(self, at_ns: int) -> None:
        """See ``Timer``."""
        self.close()
        delay_s = max(0, at_ns - time.monotonic_ns()) / 1e9
        self._handle = asyncio.get_running_loop().call_later(delay_s, self._callback)

    def close(self) -> None:
        """See ``Timer``."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


class KernelTimer:
    """By a Linux timerfd that the loop polls like a socket, so it is as late as a socket's read is."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback = callback
        self._libc = ctypes.CDLL(None, use_errno=True)
        flags = os.O_NONBLOCK | os.O_CLOEXEC
        self._fd: int = self._libc.timerfd_create(_CLOCK_MONOTONIC, flags)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._fd, self._expired)

    def arm(self, at_ns: int) -> None:
        """See ``Timer``."""
        seconds, nanoseconds = divmod(max(1, at_ns), 1_000_000_000)
        spec = (ctypes.c_long * 4)(0, 0, seconds, nanoseconds)
        self._libc.timerfd_settime(self._fd, _TFD_TIMER_ABSTIME, spec, None)

    def close(self) -> None:
        """See ``Timer``."""
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _expired(self) -> None:
        try:
            os.read(self._fd, 8)
        except BlockingIOError:  # armed anew between the wake-up and this call
            return
        self._callback()
