"""Standard output and error when their terminal is closed: what is still said goes nowhere."""

from __future__ import annotations

import os
from typing import Final

_STREAMS: Final = (1, 2)


class Terminals:
    """Those of the standard streams that are terminals now."""

    def __init__(self) -> None:
        self._streams = [stream for stream in _STREAMS if os.isatty(stream)]

    def leave_closed(self) -> None:
        """Turn streams whose terminal has been closed since to the null device: writing would fail."""
        closed = [stream for stream in self._streams if not os.isatty(stream)]
        if closed:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            for stream in closed:
                os.dup2(nowhere, stream)
            os.close(nowhere)
