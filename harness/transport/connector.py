"""Opens connections to one target."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import socket
import time
from typing import TYPE_CHECKING, Final

from harness.native import new_socket
from harness.transport.connection import Connection
from harness.transport.reader import NoReaderError, Reader
from harness.transport.reader.library import load_library
from harness.transport.reader.read_socket import ReadSocket
from harness.transport.stamped_socket import StampedSocket, asks_for_stamps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.receive_delays import ReceiveDelays
    from harness.target import Target

    Address = tuple[int, int, int, str, tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]]

READER_VARIABLE: Final = "TOKENPACE_READER"
"""``loop`` in it lets the event loop read, as where there is no C compiler."""


class Connector:
    """Resolves the target's name once and connects as often as asked.

    Args:
        target: Whom to.
        receive_delays: Learns from a share of the connections how late the harness reads them.
    """

    def __init__(self, target: Target, receive_delays: ReceiveDelays) -> None:
        self._target = target
        self._receive_delays = receive_delays
        self._tls = target.tls_context()
        self._addresses: list[Address] = []
        self._reader: Reader | None = None
        self._has_reader = self._tls is None and os.environ.get(READER_VARIABLE) != "loop" and _can_be_built()

    async def connect(self, marks: Sequence[bytes] = ()) -> tuple[Connection, int]:
        """A new connection, TLS included, and the time it took in ns.

        Args:
            marks: With which the streams of this target end.

        Raises:
            OSError: No address of the host can be reached; ``ssl.SSLError`` where TLS failed.
        """
        begun_ns = time.monotonic_ns()
        connection = await self._protocol(await self._socket(), marks)
        return connection, time.monotonic_ns() - begun_ns

    async def _socket(self) -> socket.socket:
        """A connected socket to the first address that takes one; that address is first from then on."""
        if not self._addresses:
            loop = asyncio.get_running_loop()
            host, port = self._target.host, self._target.port
            self._addresses = list(await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        failure: OSError = OSError(f"the name {self._target.host} has no address")
        for address in list(self._addresses):
            try:
                sock = await _connected(address)
            except OSError as error:
                failure = error
                continue
            if self._addresses[0] != address:
                self._addresses.remove(address)
                self._addresses.insert(0, address)
            return sock
        raise failure

    def close(self) -> None:
        """End the reader. Its connections must have been closed."""
        if self._reader is not None:
            self._receive_delays.reader_ends()
            self._reader.close()
            self._reader = None

    def _reader_with(self, marks: Sequence[bytes]) -> Reader | None:
        """The reader, begun for the first connection; None where there is none to be had."""
        if self._reader is None and self._has_reader:
            try:
                self._reader = Reader(marks)
            except NoReaderError as error:
                self._has_reader = False
                _warn(str(error))
            else:
                self._receive_delays.read_by(self._reader)
        return self._reader

    async def _protocol(self, sock: socket.socket, marks: Sequence[bytes]) -> Connection:
        reader = self._reader_with(marks)
        has_stamps = self._tls is None and self._receive_delays.takes_next() and asks_for_stamps(sock)
        if reader is not None or has_stamps:
            connection = Connection(sock, is_plain=True)
            try:
                if reader is not None:
                    ReadSocket(sock, connection, reader, self._receive_delays if has_stamps else None)
                else:
                    StampedSocket(sock, connection, self._receive_delays)
            except BaseException:
                sock.close()
                raise
            return connection
        try:
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: Connection(sock, is_plain=self._tls is None),
                sock=sock,
                ssl=self._tls,
                server_hostname=self._target.host if self._tls is not None else None,
            )
        except BaseException:
            sock.close()
            raise
        return connection


def _can_be_built() -> bool:
    """Whether there is a library for the reader. It is built now, not while requests are due."""
    try:
        load_library()
    except NoReaderError as error:
        _warn(str(error))
        return False
    return True


@functools.cache
def _warn(why: str) -> None:
    """Once for each reason."""
    logging.getLogger(__name__).warning("chunks are read by the event loop, a little later: %s", why)


async def _connected(address: Address) -> socket.socket:
    family, kind, protocol, _, place = address
    sock = new_socket(family, kind, protocol)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(sock, place)
    except BaseException:
        sock.close()
        raise
    return sock
