"""SIGINT and SIGTERM: the first one ends the run in order, the second one at once."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """Whether the run was told to end.

    Attributes:
        stop: Set once a signal came.
        signal_name: ``SIGINT`` or ``SIGTERM``, None as long as none came.
    """

    def __init__(self) -> None:
        self.stop = asyncio.Event()
        self.signal_name: str | None = None

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Take the signals while the block runs. Only the main thread can; elsewhere nothing is taken."""
        loop = asyncio.get_running_loop()
        taken = []
        for number in _SIGNALS:
            with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):
                loop.add_signal_handler(number, self._on_signal, number)
                taken.append(number)
        try:
            yield
        finally:
            for number in taken:
                loop.remove_signal_handler(number)

    def tell(self, name: str) -> None:
        """End the run in order, in the name of a signal that somebody else took."""
        if self.signal_name is None:
            self.signal_name = name
            self.stop.set()

    def _on_signal(self, number: signal.Signals) -> None:
        if self.signal_name is not None:
            os._exit(128 + number)
        self.signal_name = number.name
        self.stop.set()
