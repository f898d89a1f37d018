"""A server that does to each request what a script says, byte by byte, from a thread of its own."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl

CLOSE, RESET, STALL = "close", "reset", "stall"
Step = bytes | float | str
"""Bytes to send, seconds to wait, or ``CLOSE``, ``RESET``, ``STALL`` (until the client leaves)."""

Script = Callable[[int], Sequence[Step]]
"""From the number of the request, counted over all connections, to what happens to it."""

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def sized(body: bytes, extra: bytes = b"") -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n%s\r\n%s" % (len(body), extra, body)


class ScriptedServer:
    """Listens on 127.0.0.1.

    Attributes:
        requests: What came, head and body.
        connections: The number of the connection that each request came on.
        sent_ns: When each piece of bytes was sent.
    """

    def __init__(self, script: Script, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[bytes] = []
        self.connections: list[int] = []
        self.sent_ns: list[int] = []
        self._script = script
        self._tls = tls
        self._lock = threading.Lock()
        self._num_connections = 0
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Stop listening and close what is open."""
        # shutdown wakes a thread that is blocked in accept or recv; close alone doesn't
        for sock in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                number, self._num_connections = self._num_connections, self._num_connections + 1
                threading.Thread(target=self._serve, args=(sock, number), daemon=True).start()

    def _serve(self, sock: socket.socket, number: int) -> None:
        try:
            if self._tls is not None:
                sock = self._tls.wrap_socket(sock, server_side=True)
            self._open.append(sock)
            while request := _read_request(sock):
                with self._lock:
                    index = len(self.requests)
                    self.requests.append(request)
                    self.connections.append(number)
                for step in self._script(index):
                    if not self._do(sock, step):
                        return
        except OSError:
            pass
        finally:
            sock.close()

    def _do(self, sock: socket.socket, step: Step) -> bool:
        if isinstance(step, bytes):
            self.sent_ns.append(time.monotonic_ns())
            sock.sendall(step)
        elif isinstance(step, float):
            time.sleep(step)
        elif step == STALL:
            sock.recv(1)
        elif step == RESET:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return not isinstance(step, str)


def _read_request(sock: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = sock.recv(65_536)
        if not piece:
            return b""
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [
        line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")
    ]
    missing = int(lengths[0]) - len(body) if lengths else 0
    while missing > 0:
        piece = sock.recv(missing)
        data += piece
        missing -= len(piece)
    return data
