"""The event loop of asyncio, uvloop's where there is one."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from time import monotonic_ns
from typing import TYPE_CHECKING, cast

from reference_server.timetable.alarm import make_alarm

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.timetable.alarm import Alarm
    from reference_server.timetable.wire import Peer, Wire

if sys.platform == "win32":
    from asyncio import new_event_loop
else:
    from uvloop import new_event_loop

_NO_LINGER = struct.pack("ii", 1, 0)


class AsyncioLoop:
    """See ``event_loop.EventLoop``."""

    def __init__(self) -> None:
        self._loop = new_event_loop()
        self._come = asyncio.Event()

    def alarm(self, ring: Callable[[], None]) -> Alarm:
        """The finest the platform has."""
        return make_alarm(self._loop, ring)

    def call_soon(self, job: Callable[[], None]) -> None:
        """In the next turn."""
        self._loop.call_soon(job)

    def serve(self, listening: socket.socket, connect: Callable[[Wire], Peer]) -> None:
        """Until ``stop``."""
        self._loop.run_until_complete(self._serve(listening, connect))

    def stop(self) -> None:
        """Wake the loop, which a signal's handler does not."""
        self._loop.call_soon_threadsafe(self._come.set)

    def close(self) -> None:
        """Let what was aborted end."""
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _serve(self, listening: socket.socket, connect: Callable[[Wire], Peer]) -> None:
        server = await self._loop.create_server(lambda: _Protocol(connect), sock=listening, backlog=4096)
        await self._come.wait()
        server.close()


class _Protocol(asyncio.Protocol):
    """What asyncio tells, told on."""

    _peer: Peer

    def __init__(self, connect: Callable[[Wire], Peer]) -> None:
        self._connect = connect

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._peer = self._connect(AsyncioWire(cast("asyncio.Transport", transport)))  # uvloop's is none

    def data_received(self, data: bytes) -> None:
        self._peer.received(data, monotonic_ns())

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._peer.lost()


class AsyncioWire:
    """See ``wire.Wire``."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._socket: socket.socket = transport.get_extra_info("socket")
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.fd = self._socket.fileno()

    @property
    def num_held(self) -> int:
        """In the transport's buffer."""
        return self._transport.get_write_buffer_size()

    def hold(self, data: bytes) -> None:
        """The transport writes it."""
        self._transport.write(data)

    def pause_reading(self) -> None:
        """Stop reading."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read again."""
        self._transport.resume_reading()

    def end_writing(self) -> None:
        """Half-close."""
        if not self._transport.is_closing():
            self._transport.write_eof()

    def close(self) -> None:
        """End politely."""
        self._transport.close()

    def abort(self) -> None:
        """End at once."""
        self._transport.abort()

    def reset(self) -> None:
        """End with a reset."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self._transport.abort()
