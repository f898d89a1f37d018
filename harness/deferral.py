"""Signals while what was measured is written: they act when it is."""

from __future__ import annotations

import contextlib
import signal
import sys
from typing import TYPE_CHECKING

from harness.first_signal import SIGNALS, FirstSignal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


class Deferral:
    """Holds back signals; ended by a second one, SIGHUP apart, at once.

    Attributes:
        folder: Where all is written when the signal acts, as it is told then; None where nothing is.
    """

    def __init__(self) -> None:
        self.folder: str | None = None
        self._first = FirstSignal()

    @property
    def signal_name(self) -> str | None:
        """What is held back, None as long as nothing is."""
        return self._first.name

    @contextlib.contextmanager
    def holding(self) -> Iterator[None]:
        """Hold back signals that are not ignored. Only the main thread can; elsewhere none is held back."""
        before = {}
        for number in SIGNALS:
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
        self._first.take(number)

    def _act(self) -> None:
        if self.signal_name is None:
            return
        if self.folder is not None:
            said = f"{self.signal_name} came while reports were written; all are in {self.folder}"
            with contextlib.suppress(OSError):  # SIGHUP may have taken the terminal
                sys.stderr.write(f"tokenpace: {said}\n")
        number = signal.Signals[self.signal_name]
        signal.raise_signal(number)
        if number is signal.SIGINT:  # asyncio's own handler only wishes to cancel
            raise KeyboardInterrupt
