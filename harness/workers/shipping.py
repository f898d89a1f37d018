"""A worker's journal on its way to the run's process, which doesn't see the worker's disk."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from harness.workers.messages import Piece

if TYPE_CHECKING:
    from pathlib import Path

    from harness.workers.channel import Connection

PIECE_BYTES: Final = 256 * 1024
"""So many in a message, or one line where that is longer."""
INTERVAL_S: Final = 0.5


class Shipping:
    """Sends the lines of a journal that grows, so that those of a worker that is lost are not.

    Args:
        path: The journal; it needn't be there yet.
        connection: To the run's process.
    """

    def __init__(self, path: Path, connection: Connection) -> None:
        self._path = path
        self._connection = connection
        self._sent_bytes = 0
        self._sending = asyncio.Lock()

    async def follow(self) -> None:
        """Send what there is new, twice a second, for ever."""
        while True:
            await asyncio.sleep(INTERVAL_S)
            await asyncio.shield(self.finish())

    async def finish(self) -> None:
        """Send all that there is by now."""
        async with self._sending:
            while lines := self._next_lines():
                self._sent_bytes += len(lines)
                await self._connection.send(Piece(lines=lines))

    def _next_lines(self) -> bytes:
        """Whole lines that were not sent; none where there are none."""
        if not self._path.exists():
            return b""
        with self._path.open("rb") as file:
            file.seek(self._sent_bytes)
            data = file.read(PIECE_BYTES)
            if b"\n" not in data:
                data += file.readline()
        return data[: data.rfind(b"\n") + 1]
