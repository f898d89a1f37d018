"""A stream of server-sent events, sent frame by frame without the framework in between."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from starlette.responses import Response

from reference_server.api.body import ClientGoneError
from reference_server.api.disconnect import run_while_connected

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from starlette.types import Receive, Scope, Send

HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",
}


class EventStream(Response):
    """Sends its head at once, then each frame as it comes; ends the frames as soon as the client leaves.

    Args:
        frames: The bytes to send; closed early if the client leaves.
        headers: Added to those of a stream.
        held: Closed at the very end, however it comes.
    """

    def __init__(
        self, frames: AsyncGenerator[bytes], headers: Mapping[str, str], held: contextlib.ExitStack
    ) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers({**HEADERS, **headers})
        self._frames = frames
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all of it."""
        del scope
        with self._held, contextlib.suppress(ClientGoneError):
            await run_while_connected(receive, self._send_all(send))

    async def _send_all(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async with contextlib.aclosing(self._frames) as frames:
            async for frame in frames:
                await send({"type": "http.response.body", "body": frame, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
