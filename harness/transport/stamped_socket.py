"""A transport that reads with the kernel's receive stamps, which the event loop's own throws away."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from harness.receive_delays import ReceiveDelays

_SO_TIMESTAMPNS: Final = 35
_TIMESPEC: Final = struct.Struct("@ll")
_ANCILLARY_BYTES: Final = socket.CMSG_SPACE(_TIMESPEC.size) if hasattr(socket, "CMSG_SPACE") else 0
_READ_BYTES: Final = 65_536


def asks_for_stamps(sock: socket.socket) -> bool:
    """Ask the kernel to stamp what ``sock`` receives; False where this platform doesn't."""
    if sys.platform != "linux":
        return False
    try:
        sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    except OSError:
        return False
    return True


class StampedSocket(asyncio.Transport):
    """Carries ``protocol`` over ``sock`` as the loop's own transport would, without TLS.

    Args:
        sock: Connected, not blocking, asked for stamps. It is closed with the transport.
        protocol: Gets ``connection_made`` at once.
        delays: Gets the kernel's stamp of every read.
    """

    def __init__(self, sock: socket.socket, protocol: asyncio.Protocol, delays: ReceiveDelays) -> None:
        super().__init__({"socket": sock, "peername": sock.getpeername()})
        self._loop = asyncio.get_running_loop()
        self._sock = sock
        self._protocol = protocol
        self._delays = delays
        self._unsent = bytearray()
        self._is_closing = False
        protocol.connection_made(self)
        self._loop.add_reader(sock, self._read)

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
        self._lose(None)

    def abort(self) -> None:
        """Close at once."""
        self._lose(None)

    def _read(self) -> None:
        try:
            data, ancillary, _, _ = self._sock.recvmsg(_READ_BYTES, _ANCILLARY_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._lose(error)
            return
        if not data:
            self._protocol.eof_received()
            self._lose(None)
            return
        if ancillary:
            seconds, nanoseconds = _TIMESPEC.unpack_from(ancillary[0][2])
            self._delays.note(seconds * 1_000_000_000 + nanoseconds)
        else:
            self._delays.note_unstamped()
        self._protocol.data_received(data)
        if number := self._sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self._break(OSError(number, os.strerror(number)))

    def _break(self, error: OSError) -> None:
        """The connection broke behind what was read: libuv won't call again, though there may be more."""
        while not self._is_closing:
            try:
                data = self._sock.recv(_READ_BYTES)
            except OSError:
                data = b""
            if not data:
                self._lose(error)
                return
            self._protocol.data_received(data)

    def _write(self) -> None:
        try:
            del self._unsent[: self._sock.send(self._unsent)]
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._lose(error)
            return
        if not self._unsent:
            self._loop.remove_writer(self._sock)

    def _lose(self, error: OSError | None) -> None:
        if self._is_closing:
            return
        self._is_closing = True
        self._loop.remove_reader(self._sock)
        self._loop.remove_writer(self._sock)
        self._loop.call_soon(self._lost, error)

    def _lost(self, error: OSError | None) -> None:
        try:
            self._protocol.connection_lost(error)
        finally:
            self._sock.close()
