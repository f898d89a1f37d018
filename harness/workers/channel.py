"""Between the run's process and a worker: messages over a socket, each with its length before it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final, Protocol

from harness.workers.messages import Message, decode, encode

if TYPE_CHECKING:
    import socket

_LENGTH_BYTES: Final = 8


class Connection(Protocol):
    """One end of a way between the run's process and a worker, whatever carries the messages."""

    async def send(self, message: Message) -> None:
        """Send a message. Where nobody listens any more it is lost, and ``receive`` tells."""

    async def receive(self) -> Message | None:
        """The next message; None when the other end is gone."""

    async def close(self) -> None:
        """Hang up."""


class Channel:
    """One end of a connection between the run's process and a worker. Made by ``open``."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, connected: socket.socket) -> Channel:
        """The channel over a connected socket, which belongs to it from now on."""
        return cls(*await asyncio.open_unix_connection(sock=connected))

    async def send(self, message: Message) -> None:
        """Send a message. Where nobody listens any more it is lost, and ``receive`` tells."""
        data = encode(message)
        with contextlib.suppress(ConnectionError):
            self._writer.write(len(data).to_bytes(_LENGTH_BYTES, "big") + data)
            await self._writer.drain()

    async def receive(self) -> Message | None:
        """The next message; None when the other end is gone, even in the middle of one."""
        try:
            length = int.from_bytes(await self._reader.readexactly(_LENGTH_BYTES), "big")
            return decode(await self._reader.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    async def close(self) -> None:
        """Hang up."""
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()
