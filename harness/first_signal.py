"""The signals that end a run, and which of them came first.

A terminal that is closed says SIGHUP more than once (the shell does, and then the kernel), so that one never
ends a run at once.
"""

from __future__ import annotations

import os
import signal
from typing import Final

from harness.closed_terminal import Terminals

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class FirstSignal:
    """Notes the first one; any but SIGHUP ends the process at once if it is not the first.

    Attributes:
        name: ``SIGINT``, ``SIGTERM`` or ``SIGHUP``, None as long as none came.
        terminals: Those that may have been closed.
    """

    def __init__(self) -> None:
        self.name: str | None = None
        self.terminals = Terminals()

    def take(self, number: int) -> None:
        """It came."""
        if self.name is not None and number != signal.SIGHUP:
            os._exit(128 + number)
        if number == signal.SIGHUP:
            self.terminals.leave_closed()
        self.name = self.name or signal.Signals(number).name
