"""Stop work for a client that has left: the framework does not do it by itself."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from reference_server.api.body import ClientGoneError

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from starlette.types import Receive

T = TypeVar("T")


async def run_while_connected(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` to its end, or cancel it as soon as the client leaves. The body must have been read.

    Raises:
        ClientGoneError: The client left first.
    """
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_disconnect(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientGoneError
        return working.result()
    finally:
        await _cancel(working)
        await _cancel(leaving)


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _cancel(task: asyncio.Future[Any]) -> None:
    if not task.done():
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # nobody is left to hear of it
