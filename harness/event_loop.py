"""The event loop of a run: uvloop where it is installed, else asyncio's own."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
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


def call_soon(
    loop: asyncio.AbstractEventLoop | None,
    what: Callable[..., object],
    *arguments: Any,  # noqa: ANN401 (those of ``what``)
) -> None:
    """Have a loop call something soon, from any thread; not where it is closed, or there is none."""
    if loop is not None:
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(what, *arguments)
