"""The event loop of a run: uvloop where it is installed, else asyncio's own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

try:
    import uvloop
except ImportError:  # not made for Windows
    uvloop = None  # type: ignore[assignment]  # a module or None

Value = TypeVar("Value")


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A new loop, not yet running."""
    return asyncio.new_event_loop() if uvloop is None else uvloop.new_event_loop()


def run(main: Coroutine[Any, Any, Value]) -> Value:
    """Run ``main`` to its end on a new loop and return its value."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(main)
