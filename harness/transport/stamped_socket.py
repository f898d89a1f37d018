"""A transport that reads with the kernel's receive stamps, which the event loop's own throws away."""

from __future__ import annotations

import os
import socket
import struct
import sys
from typing import TYPE_CHECKING, Final

from harness.transport.own_socket import OwnSocket

if TYPE_CHECKING:
    import asyncio

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


class StampedSocket(OwnSocket):
    """Reads whenever the event loop says that there is something.

    Args:
        sock: Asked for stamps; else see ``OwnSocket``.
        protocol: See there.
        delays: Gets the kernel's stamp of every read.
    """

    def __init__(self, sock: socket.socket, protocol: asyncio.Protocol, delays: ReceiveDelays) -> None:
        super().__init__(sock, protocol)
        self._delays = delays
        self._loop.add_reader(sock, self._read)

    def stop_reading(self) -> None:
        """See ``OwnSocket``."""
        self._loop.remove_reader(self._sock)

    def _read(self) -> None:
        try:
            data, ancillary, _, _ = self._sock.recvmsg(_READ_BYTES, _ANCILLARY_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self.lose(error)
            return
        if not data:
            self._protocol.eof_received()
            self.lose(None)
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
                self.lose(error)
                return
            self._protocol.data_received(data)
