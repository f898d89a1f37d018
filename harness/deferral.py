"""Signals while what was measured is written: they act when it is."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import TYPE_CHECKING, Final

from harness.closed_terminal import Terminals

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Deferral:
    """Holds back signals; ended by a second one, SIGHUP apart, at once.

    Attributes:
        folder: Where all is written when the signal acts, as it is told then; None where nothing is.
    """

    def __init__(self) -> None:
        self.folder: str | None = None
        self._number: int | None = None
        self._terminals = Terminals()

    @property
    def signal_name(self) -> str | None:
        """What is held back, None as long as nothing is."""
        return None if self._number is None else signal.Signals(self._number).name

    @contextlib.contextmanager
    def holding(self) -> Iterator[None]:
        """Hold back signals that are not ignored. Only the main thread can; elsewhere none is held back."""
        before = {}
        for number in _SIGNALS:
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                with contextlib.suppress(ValueError):
                    before[number] = signal.signal(number, self._on_signal)
        try:
            yield
        finally:
            for number, handler in before.items():
                if signal.getsignal(number) == self._on_signal:  # a SIGHUP that is over is ignored
                    signal.signal(number, handler)
            self._act()

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        if self._number is not None and number != signal.SIGHUP:
            os._exit(128 + number)
        if number == signal.SIGHUP:
            self._terminals.leave_closed()
        self._number = self._number or number

    def _act(self) -> None:
        if self._number is None:
            return
        if self.folder is not None:
            said = f"{self.signal_name} came while reports were written; all are in {self.folder}"
            with contextlib.suppress(OSError):  # SIGHUP may have taken the terminal
                sys.stderr.write(f"tokenpace: {said}\n")
        signal.raise_signal(self._number)
        if self._number == signal.SIGINT:  # asyncio's own handler only wishes to cancel
            raise KeyboardInterrupt
