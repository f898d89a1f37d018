"""Async tests that make load run also where no plugin for async tests is installed, or minds them."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

__tracebackhide__ = True


def run(item: pytest.Function) -> bool | None:
    """Run a test that is a coroutine function in a loop of its own; None for any other.

    One that pytest-asyncio or anyio runs is no coroutine function any more, or was run before.
    """
    if not inspect.iscoroutinefunction(item.obj):
        return None
    names = inspect.signature(item.obj).parameters
    asyncio.run(item.obj(**{name: item.funcargs[name] for name in names if name in item.funcargs}))
    return True
