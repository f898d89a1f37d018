"""A transport that the reader's thread reads for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from harness.transport.own_socket import OwnSocket

if TYPE_CHECKING:
    import socket

    from harness.receive_delays import ReceiveDelays
    from harness.transport.connection import Connection
    from harness.transport.reader import Reader, Reads


class ReadSocket(OwnSocket):
    """Hands over what has come when there is something to decide, or somebody asks.

    Args:
        sock: See ``OwnSocket``.
        connection: The protocol.
        reader: Reads it.
        delays: Gets the delay of every read, where the kernel was asked for stamps.

    Raises:
        OSError: The reader can't take it. The socket stays open.
    """

    def __init__(
        self, sock: socket.socket, connection: Connection, reader: Reader, delays: ReceiveDelays | None
    ) -> None:
        super().__init__(sock, connection)
        self._connection = connection
        self._delays = delays
        self._calls_always = True
        self._is_catching_up = False
        self._source = reader.add(sock.fileno(), self.catch_up)

    def catch_up(self) -> None:
        """Hand over all that has come."""
        if self._is_closing or self._is_catching_up:
            return
        self._is_catching_up = True
        try:
            self._take(self._source.take())
        finally:
            self._is_catching_up = False

    def stop_reading(self) -> None:
        """See ``OwnSocket``."""
        self._source.close()

    def _take(self, reads: Reads) -> None:
        if reads.data:
            if self._delays is not None:
                self._delays.note_reads(reads.columns)
            self._connection.reads_received(reads.data, reads.columns)
        if self._is_closing:
            return
        if reads.error:
            self.lose(OSError(reads.error, os.strerror(reads.error)))
        elif reads.is_over:
            self._connection.eof_received()
            self.lose(None)
        elif self._calls_always == self._connection.is_amid_chunks:
            self._calls_always = not self._calls_always
            self._source.call_always(self._calls_always)
