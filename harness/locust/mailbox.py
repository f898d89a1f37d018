"""From the engine's thread to the greenlets."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

import gevent
from gevent.event import Event

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Mailbox(Generic[T]):
    """Hands over what another thread puts in, in its order, by a greenlet of the thread that made it.

    Args:
        deliver: Called with each. It may wait, as listeners of Locust's do, and raises nothing.
    """

    def __init__(self, deliver: Callable[[T], None]) -> None:
        self._deliver = deliver
        self._waiting: deque[T] = deque()
        self._loop = gevent.get_hub().loop
        self._filled = Event()
        self._has_rung = self._is_closed = False
        self._greenlet = gevent.spawn(self._work)

    def put(self, what: T) -> None:
        """Put something in, from any thread. One call of the hub does for all that comes until it looks."""
        self._waiting.append(what)
        if not self._has_rung:
            self._has_rung = True
            self._loop.run_callback_threadsafe(self._filled.set)

    def close(self) -> None:
        """Wait until all has been delivered; nothing may be put in any more."""
        self._is_closed = True
        self._filled.set()
        self._greenlet.join()

    def _work(self) -> None:
        while self._waiting or not self._is_closed:
            self._filled.wait()
            self._filled.clear()
            self._has_rung = False
            while self._waiting:
                self._deliver(self._waiting.popleft())
