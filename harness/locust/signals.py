"""Which signal told Locust to end. Locust acts on them itself; it only doesn't say which one it was."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import gevent

if TYPE_CHECKING:
    from types import FrameType


class Signals:
    """Notes the first one; the second one ends the process at once.

    Attributes:
        name: ``SIGINT`` or ``SIGTERM``, None as long as none came.
    """

    def __init__(self) -> None:
        self.name: str | None = None

    def listen(self) -> None:
        """Listen from now on. Whoever took the signals before still gets them."""
        before = signal.getsignal(signal.SIGINT)

        def on_interrupt(number: int, frame: FrameType | None) -> None:
            self._note(signal.SIGINT)
            if callable(before):
                before(number, frame)

        if callable(before):  # else Ctrl-C is ignored, and stays so
            signal.signal(signal.SIGINT, on_interrupt)
        gevent.signal_handler(signal.SIGTERM, self._note, signal.SIGTERM)

    def _note(self, number: signal.Signals) -> None:
        if self.name is not None:
            os._exit(128 + number)
        self.name = number.name
