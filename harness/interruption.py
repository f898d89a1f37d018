"""SIGINT, SIGTERM and SIGHUP: the first one ends the run in order, the second one at once.

A terminal that is closed says SIGHUP more than once (the shell does, and then the kernel), so that one never
ends a run at once; where it is ignored, as under nohup, it ends none.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from typing import TYPE_CHECKING, Final

from harness.closed_terminal import Terminals

if TYPE_CHECKING:
    from collections.abc import Iterator

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """Whether the run was told to end.

    Attributes:
        stop: Set once a signal came.
        signal_name: ``SIGINT``, ``SIGTERM`` or ``SIGHUP``, None as long as none came.
    """

    def __init__(self) -> None:
        self.stop = asyncio.Event()
        self.signal_name: str | None = None
        self._terminals = Terminals()

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Take the signals while the block runs. Only the main thread can; elsewhere nothing is taken."""
        loop = asyncio.get_running_loop()
        taken = {}
        for number in _SIGNALS:
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
                self._terminals.leave_closed()

    def tell(self, name: str) -> None:
        """End the run in order, in the name of a signal that somebody else took."""
        if self.signal_name is None:
            self.signal_name = name
            self.stop.set()

    def _on_signal(self, number: signal.Signals) -> None:
        if self.signal_name is None:
            self.signal_name = number.name
        elif number is not signal.SIGHUP:
            os._exit(128 + number)
        if number is signal.SIGHUP:
            self._terminals.leave_closed()
        self.stop.set()
