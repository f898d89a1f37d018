"""Freezes: for a while the whole server stands still, as under SIGSTOP.

Nothing is read and nothing is sent; the kernel still accepts connections and bytes. What was due in the
meantime goes out at the end.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from reference_server.timetable.durations import parse_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reference_server.timetable.wheel import TimerWheel

_NS_PER_S = 1_000_000_000
_NAP_S = 0.02


class Freeze(NamedTuple):
    """A time of standstill.

    Attributes:
        start_ns: From the arrival of the first request.
        length_ns: Of the standstill.
    """

    start_ns: int
    length_ns: int


def parse_freeze(text: str) -> Freeze:
    """``10s+500ms``: half a second, ten seconds after the first request.

    Raises:
        ValueError: Written otherwise.
    """
    start, plus, length = text.partition("+")
    if not plus:
        raise ValueError(f"{text!r} is no freeze; write start+length, such as 10s+500ms")
    return Freeze(parse_duration(start), parse_duration(length))


class Freezer:
    """Stops the clockwork at the scripted times.

    Args:
        freezes: When and how long.
        wheel: The clockwork.
        stopping: Asked now and then, so that a signal ends a freeze.
    """

    def __init__(self, freezes: Sequence[Freeze], wheel: TimerWheel, stopping: Callable[[], bool]) -> None:
        self._freezes, self._wheel, self._stopping = freezes, wheel, stopping
        self._first_ns: int | None = None

    def request_arrived(self, arrival_ns: int) -> None:
        """The first request starts the count."""
        if self._first_ns is not None:
            return
        self._first_ns = arrival_ns
        for freeze in self._freezes:
            begin_ns = arrival_ns + freeze.start_ns
            self._wheel.add(begin_ns, partial(self._stand_still, arrival_ns, begin_ns + freeze.length_ns))

    def reset(self) -> None:
        """The next request is the first."""
        self._first_ns = None

    def _stand_still(self, first_ns: int, until_ns: int) -> None:
        """Do nothing until then, unless the count has been started anew."""
        if first_ns != self._first_ns:
            return
        while (left_ns := until_ns - time.monotonic_ns()) > 0 and not self._stopping():
            time.sleep(min(left_ns / _NS_PER_S, _NAP_S))
