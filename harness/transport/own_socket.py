"""A transport over a plain socket, but for how it reads."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import socket


class OwnSocket(asyncio.Transport):
    """Carries ``protocol`` over ``sock`` as the loop's own transport would, without TLS.

    Args:
        sock: Connected, not blocking. It is closed with the transport.
        protocol: Gets ``connection_made`` at once.
    """

    def __init__(self, sock: socket.socket, protocol: asyncio.Protocol) -> None:
        super().__init__({"socket": sock, "peername": sock.getpeername()})
        self._loop = asyncio.get_running_loop()
        self._sock = sock
        self._protocol = protocol
        self._unsent = bytearray()
        self._is_closing = False
        protocol.connection_made(self)

    def stop_reading(self) -> None:
        """Called once, before the socket is closed."""
        raise NotImplementedError

    def catch_up(self) -> None:
        """Hand over what has come, where somebody else reads."""

    def is_closing(self) -> bool:
        """See ``asyncio.BaseTransport``."""
        return self._is_closing

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        """See ``asyncio.WriteTransport``."""
        if self._is_closing:
            return
        if not self._unsent:
            self._loop.add_writer(self._sock, self._write)
        self._unsent += data

    def close(self) -> None:
        """Close at once: between requests there is nothing left to send."""
        self.lose(None)

    def abort(self) -> None:
        """Close at once."""
        self.lose(None)

    def lose(self, error: OSError | None) -> None:
        """Close, and tell the protocol in the loop's next turn."""
        if self._is_closing:
            return
        self._is_closing = True
        self.stop_reading()
        self._loop.remove_writer(self._sock)
        self._loop.call_soon(self._lost, error)

    def _write(self) -> None:
        try:
            del self._unsent[: self._sock.send(self._unsent)]
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self.lose(error)
            return
        if not self._unsent:
            self._loop.remove_writer(self._sock)

    def _lost(self, error: OSError | None) -> None:
        try:
            self._protocol.connection_lost(error)
        finally:
            self._sock.close()
