"""SIGINT, SIGTERM and SIGHUP: the first one ends the run in order, the second one at once.

Where SIGHUP is ignored, as under nohup, it ends none.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import TYPE_CHECKING

from harness.first_signal import SIGNALS, FirstSignal

if TYPE_CHECKING:
    from collections.abc import Iterator


class Interruption:
    """Whether the run was told to end.

    Attributes:
        stop: Set once a signal came.
    """

    def __init__(self) -> None:
        self.stop = asyncio.Event()
        self._first = FirstSignal()

    @property
    def signal_name(self) -> str | None:
        """``SIGINT``, ``SIGTERM``, ``SIGHUP``, or in whose name it was told; None as long as none came."""
        return self._first.name

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Take the signals while the block runs. Only the main thread can; elsewhere nothing is taken."""
        loop = asyncio.get_running_loop()
        taken = {}
        for number in SIGNALS:
            before = signal.getsignal(number)
            if number is signal.SIGHUP and before is signal.SIG_IGN:
                continue
            with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):
                loop.add_signal_handler(number, self._on_signal, number)
                taken[number] = signal.SIG_DFL if before is None else before
        try:
            yield
        finally:
            for number, before in taken.items():
                loop.remove_signal_handler(number)
                signal.signal(number, before)
            if self.signal_name == signal.SIGHUP.name and taken:
                signal.signal(signal.SIGHUP, signal.SIG_IGN)  # what was measured is still to be written
                self._first.terminals.leave_closed()

    def tell(self, name: str) -> None:
        """End the run in order, in the name of a signal that somebody else took."""
        if self._first.name is None:
            self._first.name = name
            self.stop.set()

    def _on_signal(self, number: signal.Signals) -> None:
        self._first.take(number)
        self.stop.set()
