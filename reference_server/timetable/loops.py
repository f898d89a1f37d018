"""The event loops that there are.

``compiled`` is one of C, made for this server and compiled at first use; besides, it sends on its own the
events of an answer that differ in nothing but a word. ``asyncio`` needs no compiler and takes about twice the
CPU for each token. The answers are the same.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from reference_server.timetable.asyncio_loop import AsyncioLoop
from reference_server.timetable.compiled_loop import CompiledLoop
from reference_server.timetable.event_loop import LoopError

if TYPE_CHECKING:
    from reference_server.timetable.event_loop import EventLoop, LoopName


def make_loop(name: LoopName, words: list[bytes]) -> EventLoop:
    """The loop of that name; ``auto`` is the compiled one wherever it can be had.

    Args:
        name: Which.
        words: The vocabulary: a power of two of them.

    Raises:
        LoopError: The compiled one was asked for and can't be had.
    """
    if name == "asyncio":
        return AsyncioLoop()
    try:
        return CompiledLoop(words)
    except LoopError as error:
        if name == "compiled":
            raise
        sys.stderr.write(f"timetable: asyncio serves, with half the pace: {error}\n")
        return AsyncioLoop()
