"""uvicorn without its own handling of signals: who owns it decides when it stops."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import uvicorn

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    from starlette.types import ASGIApp

KEEP_ALIVE_S = 75
CLOSE_TIMEOUT_S = 2
BACKLOG = 2048


class HttpServer(uvicorn.Server):
    """Serves an app on a bound socket until ``should_exit`` is set."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http="httptools",
                ws="none",
                lifespan="off",
                access_log=False,
                log_level="warning",
                backlog=BACKLOG,
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=CLOSE_TIMEOUT_S,
            )
        )

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield

    async def listen(self, bound: socket.socket) -> None:
        """Serve until told to stop."""
        await self.serve(sockets=[bound])

    async def until_started(self, serving: asyncio.Task[None]) -> None:
        """Wait until connections are taken, or ``serving`` has failed."""
        while not self.started and not serving.done():  # noqa: ASYNC110 (uvicorn tells it by a flag)
            await asyncio.sleep(0.01)
