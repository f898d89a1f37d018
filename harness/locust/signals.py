"""Which signal told Locust to end. Locust acts on them itself; it only doesn't say which one it was."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import gevent

from harness.closed_terminal import Terminals

if TYPE_CHECKING:
    from types import FrameType


class Signals:
    """Notes the first one; the second one ends the process at once.

    Attributes:
        name: ``SIGINT``, ``SIGTERM`` or ``SIGHUP``, None as long as none came.
    """

    def __init__(self) -> None:
        self.name: str | None = None
        self._terminals = Terminals()

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
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            gevent.signal_handler(signal.SIGHUP, self._hang_up)

    def _note(self, number: signal.Signals) -> None:
        if self.name is None:
            self.name = number.name
        elif self.name != signal.SIGHUP.name:
            os._exit(128 + number)

    def _hang_up(self) -> None:
        """Locust doesn't know this signal, which comes more than once: end it as SIGTERM does."""
        self._terminals.leave_closed()
        if self.name is None:
            self.name = signal.SIGHUP.name
            os.kill(os.getpid(), signal.SIGTERM)
