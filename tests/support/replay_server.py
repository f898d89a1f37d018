"""A loopback server that plays recorded or made-up bytes, at scripted times and with scripted faults.

``play`` and ``play_by`` set what the next requests get. Each connection has a thread of its own, so that the
server serves synchronous and asynchronous tests alike::

    replay_server.play(Replay(pieces=after(0.01, in_pieces(capture, 7)), ending=Ending.RESET))
"""

from __future__ import annotations

import contextlib
import enum
import itertools
import re
import socket
import struct
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterable, Sequence

NEVER_S = 30.0
_LENGTH = re.compile(rb"content-length:\s*(\d+)", re.IGNORECASE)
_NO_LINGER = struct.pack("ii", 1, 0)

Piece = tuple[float, bytes]
"""Seconds to wait, then the bytes to send."""


class Ending(enum.Enum):
    """What comes after the last byte."""

    KEEP = "keep"  # wait for the next request on the same connection
    CLOSE = "close"  # a polite end
    RESET = "reset"  # a TCP reset
    STALL = "stall"  # nothing, until the client leaves or the server stops


def head(
    status: str = "200 OK", content_type: str = "text/event-stream", *headers: str, length: int | None = None
) -> bytes:
    """A response head. Without a length the end of the connection ends the body."""
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {content_type}", *headers]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    return "\r\n".join([*lines, "\r\n"]).encode()


CHUNKED_HEAD = head("200 OK", "text/event-stream", "Transfer-Encoding: chunked")
LAST_CHUNK = b"0\r\n\r\n"


@dataclass(frozen=True)
class Replay:
    """What one request gets.

    Attributes:
        head: Sent first, as soon as the request is read; may be empty.
        pieces: Then these, each in a write of its own.
        ending: And then this.
    """

    head: bytes = head()
    pieces: Sequence[Piece] = ()
    ending: Ending = Ending.CLOSE


class Received(NamedTuple):
    """A request as it came."""

    head: bytes
    body: bytes


def after(delay_s: float, pieces: Iterable[bytes]) -> list[Piece]:
    """Each piece ``delay_s`` after the one before."""
    return [(delay_s, piece) for piece in pieces]


def in_pieces(data: bytes, size: int) -> list[bytes]:
    """Pieces of ``size`` bytes, the last one shorter."""
    return [data[i : i + size] for i in range(0, len(data), size)]


def split_at(data: bytes, *cuts: int) -> list[bytes]:
    """Pieces that end at the given offsets, and the rest."""
    edges = [0, *cuts, len(data)]
    return [data[begin:end] for begin, end in itertools.pairwise(edges)]


def chunked(pieces: Iterable[bytes]) -> list[bytes]:
    """Each piece as one chunk of the transfer coding; the last chunk follows."""
    return [*(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces), LAST_CHUNK]


def whole(
    body: bytes, status: str = "200 OK", content_type: str = "application/json", *headers: str
) -> Replay:
    """A reply of known length, on a connection that stays open."""
    return Replay(head(status, content_type, *headers, length=len(body)), [(0, body)], Ending.KEEP)


class ReplayServer:
    """Listens on a free port of 127.0.0.1 while it is entered as a context.

    Args:
        tls: A server-side context, for https.

    Attributes:
        port: Where it listens.
        url: Its address.
        received: The requests so far.
        connections: The number of the connection that each of them came on.
        sent_ns: When each write began.
        num_connections: Connections so far.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._replays: list[Replay] = [Replay()]
        self._script: Callable[[int], Replay] | None = None
        self._threads: list[threading.Thread] = []
        self._open: set[socket.socket] = set()
        self.port: int = self._listening.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self.received: list[Received] = []
        self.connections: list[int] = []
        self.sent_ns: list[int] = []
        self.num_connections = 0

    def play(self, *replays: Replay) -> None:
        """The next requests get these in turn, all further ones the last."""
        with self._lock:
            self._replays = list(replays)

    def play_by(self, script: Callable[[int], Replay]) -> None:
        """All requests get what ``script`` says of their number, counted over all connections."""
        self._script = script

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in list(self._threads):
            thread.join(NEVER_S)

    def _start(self, target: object, *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)  # type: ignore[arg-type]  # any callable
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while not self._stop.is_set():
                connection, _ = self._listening.accept()
                self.num_connections += 1
                self._start(self._converse, connection, self.num_connections - 1)

    def _converse(self, connection: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.settimeout(NEVER_S)
            talking = self._tls.wrap_socket(connection, server_side=True) if self._tls else connection
            self._open.add(talking)
            with talking:
                self._serve(talking, number)
            self._open.discard(talking)

    def _serve(self, connection: socket.socket, number: int) -> None:
        buffered = b""
        while True:
            request, buffered = _read_request(connection, buffered)
            if request is None:
                return
            with self._lock:
                self.received.append(request)
                self.connections.append(number)
                replay = self._next()
            if not self._play(connection, replay):
                return

    def _next(self) -> Replay:
        if self._script is not None:
            return self._script(len(self.received) - 1)
        return self._replays.pop(0) if len(self._replays) > 1 else self._replays[0]

    def _play(self, connection: socket.socket, replay: Replay) -> bool:
        """True if the connection goes on."""
        if replay.head:
            self._send(connection, replay.head)
        for delay_s, data in replay.pieces:
            if delay_s and self._stop.wait(delay_s):
                return False
            self._send(connection, data)
        if replay.ending is Ending.STALL:
            connection.recv(1)
        if replay.ending is Ending.RESET:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        return replay.ending is Ending.KEEP

    def _send(self, connection: socket.socket, data: bytes) -> None:
        self.sent_ns.append(time.monotonic_ns())
        connection.sendall(data)


def _read_request(connection: socket.socket, buffered: bytes) -> tuple[Received | None, bytes]:
    while b"\r\n\r\n" not in buffered:
        data = connection.recv(65536)
        if not data:
            return None, b""
        buffered += data
    request_head, _, body = buffered.partition(b"\r\n\r\n")
    match = _LENGTH.search(request_head)
    length = int(match[1]) if match else 0
    while len(body) < length:
        data = connection.recv(65536)
        if not data:
            return None, b""
        body += data
    return Received(request_head, body[:length]), body[length:]
