"""One alarm clock for the whole server, finer than the event loop's own timers.

uvloop's timers have 1 ms steps and may fire half a millisecond early. On Linux a timerfd wakes the loop to
within tens of microseconds; elsewhere the loop's timer has to do.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

_NS_PER_S = 1_000_000_000
_CLOCK_MONOTONIC = 1
_TFD_TIMER_ABSTIME = 1


class Alarm(Protocol):
    """Calls back once, not before the time it is set to (the loop's timer: nearly so)."""

    def set(self, due_ns: int) -> None:
        """Ring at ``due_ns`` of ``time.monotonic_ns``, in place of what was set before."""

    def silence(self) -> None:
        """Don't ring any more until set again."""

    def close(self) -> None:
        """Let go of what the alarm holds."""


def make_alarm(loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> Alarm:
    """The finest alarm this platform has."""
    return TimerfdAlarm(loop, ring) if sys.platform == "linux" else LoopAlarm(loop, ring)


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Itimerspec(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class TimerfdAlarm:
    """A timerfd on the loop. Setting it again also clears it, so that it is never read."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._settime = libc.timerfd_settime
        self._fd: int = libc.timerfd_create(_CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create failed")
        self._spec = _Itimerspec()
        self._spec_pointer = ctypes.byref(self._spec)
        self._loop = loop
        loop.add_reader(self._fd, ring)

    def set(self, due_ns: int) -> None:
        """Ring at ``due_ns``; at once if that is past."""
        value = self._spec.value
        value.seconds, value.nanoseconds = divmod(max(due_ns, 1), _NS_PER_S)
        self._settime(self._fd, _TFD_TIMER_ABSTIME, self._spec_pointer, None)

    def silence(self) -> None:
        """Disarm: a value of zero."""
        value = self._spec.value
        value.seconds = value.nanoseconds = 0
        self._settime(self._fd, _TFD_TIMER_ABSTIME, self._spec_pointer, None)

    def close(self) -> None:
        """Take it off the loop and close it."""
        self._loop.remove_reader(self._fd)
        os.close(self._fd)


class LoopAlarm:
    """The loop's own timer."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        self._loop = loop
        self._ring = ring
        self._handle: asyncio.TimerHandle | None = None

    def set(self, due_ns: int) -> None:
        """Ring at ``due_ns``; at once if that is past."""
        self.silence()
        delay_s = max(0, due_ns - time.monotonic_ns()) / _NS_PER_S
        self._handle = self._loop.call_later(delay_s, self._ring)

    def silence(self) -> None:
        """Cancel the timer."""
        if self._handle is not None:
            self._handle.cancel()

    def close(self) -> None:
        """The same as silence."""
        self.silence()
