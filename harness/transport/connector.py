"""Opens connections to one target."""

from __future__ import annotations

import asyncio
import socket
import time
from typing import TYPE_CHECKING

from harness.transport.connection import Connection
from harness.transport.stamped_socket import StampedSocket, asks_for_stamps

if TYPE_CHECKING:
    from harness.receive_delays import ReceiveDelays
    from harness.target import Target

    Address = tuple[int, int, int, str, tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]]


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

    async def connect(self) -> tuple[Connection, int]:
        """A new connection, TLS included, and the time it took in ns.

        Raises:
            OSError: No address of the host can be reached; ``ssl.SSLError`` where TLS failed.
        """
        begun_ns = time.monotonic_ns()
        connection = await self._protocol(await self._socket())
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

    async def _protocol(self, sock: socket.socket) -> Connection:
        if self._tls is None and self._receive_delays.takes_next() and asks_for_stamps(sock):
            connection = Connection(sock, is_plain=True)
            StampedSocket(sock, connection, self._receive_delays)
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


async def _connected(address: Address) -> socket.socket:
    family, kind, protocol, _, place = address
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.get_running_loop().sock_connect(sock, place)
    except BaseException:
        sock.close()
        raise
    return sock
