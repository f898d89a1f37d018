"""One HTTP/1.1 connection: the hot path of the harness."""

from __future__ import annotations

import asyncio
import enum
import socket
import time
from http import HTTPStatus
from typing import TYPE_CHECKING, cast

from harness.timeline import End, EnoughError
from harness.transport import SWITCHED, coding_fault, is_farewell, was_closing
from harness.transport.failures import exchange_failure, no_answer
from harness.transport.framing import Chunked, framing_of
from harness.transport.head import MAX_HEAD_BYTES, TOO_LONG, NotHttpError, check_begun, parse_head
from harness.transport.own_socket import OwnSocket

if TYPE_CHECKING:
    from array import array

    from harness.timeline import Timeline
    from harness.transport.framing import Framing
    from harness.transport.head import Head


class Answered(enum.Enum):
    """What came of sending a request."""

    YES = "yes"
    """The timeline has ended."""
    NOT_TAKEN = "not taken"
    """The server was closing a reused connection and didn't take the request: not a byte, or a farewell."""


class Connection(asyncio.Protocol):
    """Carries one exchange at a time.

    Args:
        sock: The connected socket under the transport. It stays the transport's.
        is_plain: True without TLS: then requests are written straight to the socket.

    Attributes:
        last_read_ns: Time of the latest socket read of this exchange, 0 before the first.
        is_reused: True from the second exchange on.
        is_reusable: True between exchanges, while the server keeps the connection open.
    """

    def __init__(self, sock: socket.socket, *, is_plain: bool) -> None:
        self.last_read_ns = 0
        self.is_reused = False
        self.is_reusable = False
        self._sock = sock
        self._is_plain = is_plain
        self._transport: asyncio.Transport | None = None
        self._own: OwnSocket | None = None
        self._timeline: Timeline | None = None
        self._over: asyncio.Future[Answered] | None = None
        self._framing: Framing | None = None
        self._head = bytearray()
        self._keeps_alive = False

    def send(self, request: bytes, timeline: Timeline) -> asyncio.Future[Answered]:
        """Send a request and let what comes back fill ``timeline``; the future says when it is over."""
        assert self._transport is not None
        self._over = over = asyncio.get_running_loop().create_future()
        self._timeline, self._framing = timeline, None
        self._head.clear()
        self.last_read_ns = 0
        self.is_reusable = False
        timeline.sent_ns = time.monotonic_ns()
        num_written = self._write_now(request) if self._is_plain else 0
        if num_written < len(request) and not over.done():
            self._transport.write(memoryview(request)[num_written:])
        return over

    @property
    def is_amid_chunks(self) -> bool:
        """True while a body in chunks goes on: its end is an empty line."""
        return isinstance(self._framing, Chunked)

    def catch_up(self) -> None:
        """Let the timeline have what has been read so far."""
        if self._own is not None:
            self._own.catch_up()

    def has_gone_stale(self) -> bool:
        """True if the server has closed, or sent something nobody asked for, since the last exchange."""
        self.catch_up()
        if not self.is_reusable or self._transport is None or self._transport.is_closing():
            return True
        try:
            self._sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            pass
        return True

    def abort(self) -> None:
        """Close at once. An exchange that goes on ends as it has been noted, or as cut."""
        self.catch_up()
        self.is_reusable = False
        if self._timeline is not None:
            self._end(End.CUT, time.monotonic_ns())
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See ``asyncio.Protocol``."""
        self._transport = cast("asyncio.Transport", transport)
        self._own = transport if isinstance(transport, OwnSocket) else None

    def data_received(self, data: bytes) -> None:
        """See ``asyncio.Protocol``: the event loop has read. Stamps before anything else."""
        self._received(data, time.monotonic_ns())

    def reads_received(self, data: bytes, columns: array[int]) -> None:
        """Take reads that have been stamped.

        Args:
            data: Their bytes.
            columns: As ``reader.Reads``.
        """
        end = 0
        for stamp_ns, size in zip(columns[::4], columns[1::4], strict=True):
            begin, end = end, end + size
            self._received(data[begin:end], stamp_ns)

    def _received(self, data: bytes, now_ns: int) -> None:
        """Unframe and keep."""
        self.last_read_ns = now_ns
        timeline, framing = self._timeline, self._framing
        if timeline is None:
            self.abort()
            return
        try:
            if framing is None:
                self._take_head(data, now_ns, timeline)
            elif body := framing.feed(data):
                timeline.keep(now_ns, body)
        except NotHttpError as error:
            self._break_off(error, now_ns, timeline)
        except EnoughError as enough:
            self._end(enough.end, now_ns, enough.detail, str(enough))
            self.abort()
        if framing is not None and framing.is_complete:
            self._complete(framing, now_ns)

    def _break_off(self, error: NotHttpError, now_ns: int, timeline: Timeline) -> None:
        """End at broken framing; what came before it counts, however the bytes were cut into reads."""
        try:
            if error.body:
                timeline.keep(now_ns, error.body)
        except EnoughError as enough:
            self._end(enough.end, now_ns, enough.detail, str(enough))
        self._end(End.NOT_HTTP, now_ns, "framing", str(error))
        self.abort()

    def eof_received(self) -> None:
        """The server closed its side: the whole connection ends."""
        self._close(time.monotonic_ns(), None)

    def connection_lost(self, exc: Exception | None) -> None:
        """See ``asyncio.Protocol``."""
        self._close(time.monotonic_ns(), exc)
        self._transport = self._own = None

    def _write_now(self, request: bytes) -> int:
        """Hand to the kernel what it takes at once: event loops put writes off to the end of their turn."""
        try:
            return self._sock.send(request)
        except BlockingIOError:
            return 0
        except OSError as error:
            self._close(time.monotonic_ns(), error)
            return 0

    def _take_head(self, data: bytes, now_ns: int, timeline: Timeline) -> None:
        self._head += data
        while self._framing is None and self._timeline is not None:
            end = self._head.find(b"\r\n\r\n")
            if (len(self._head) if end < 0 else end) > MAX_HEAD_BYTES:
                raise NotHttpError(TOO_LONG)
            if end < 0:
                check_begun(bytes(self._head))
                return
            head = parse_head(bytes(self._head[:end]))
            del self._head[: end + 4]
            if head.status == HTTPStatus.SWITCHING_PROTOCOLS:
                raise NotHttpError(SWITCHED)
            if head.status < 200:  # an interim response; the real one follows
                continue
            if self.is_reused and self._says_farewell(head, now_ns, timeline):
                self._resolve(Answered.NOT_TAKEN)
                self.abort()
                return
            timeline.headers_ns, timeline.status, timeline.headers = now_ns, head.status, head.headers
            self._keeps_alive = head.keeps_alive
            self._begin_body(framing_of(head), now_ns, timeline)

    def _says_farewell(self, head: Head, now_ns: int, timeline: Timeline) -> bool:
        after_ns = now_ns - (timeline.sent_ns or now_ns)
        return is_farewell(head.status, keeps_alive=head.keeps_alive, after_ns=after_ns)

    def _begin_body(self, framing: Framing, now_ns: int, timeline: Timeline) -> None:
        if fault := coding_fault(timeline.headers):
            raise NotHttpError(fault)
        self._framing = framing
        body = framing.feed(bytes(self._head))
        self._head.clear()
        if body:
            timeline.keep(now_ns, body)
        if framing.is_complete:
            self._complete(framing, now_ns)

    def _complete(self, framing: Framing, now_ns: int) -> None:
        self.is_reusable = self._keeps_alive and not framing.num_excess
        self._end(End.COMPLETE, now_ns)
        if not self.is_reusable:
            self.abort()

    def _close(self, now_ns: int, error: Exception | None) -> None:
        """The connection is gone: find out what that means for the exchange."""
        self.is_reusable = False
        timeline = self._timeline
        if timeline is None:
            return
        after_ns = now_ns - (timeline.sent_ns or now_ns)
        if self.is_reused and not self.last_read_ns and was_closing(after_ns):
            self._resolve(Answered.NOT_TAKEN)
        elif error is not None:
            self._end(*_placed(exchange_failure(error), now_ns))
        elif self._framing is None:
            self._end(*_placed(no_answer(self._head), now_ns))
        elif self._framing.ends_by_close:
            self._end(End.COMPLETE, now_ns)
        else:
            self._end(End.CLOSED, now_ns, "", "the server closed the connection in the middle of the answer")

    def _end(self, end: End, at_ns: int, detail: str = "", message: str = "") -> None:
        if self._timeline is not None:
            self._timeline.close(end, at_ns, detail, message)
            self._resolve(Answered.YES)

    def _resolve(self, answered: Answered) -> None:
        self._timeline = self._framing = None
        self.is_reused = True
        if self._over is not None and not self._over.done():
            self._over.set_result(answered)
        self._over = None


def _placed(failure: tuple[End, str, str], at_ns: int) -> tuple[End, int, str, str]:
    end, detail, message = failure
    return end, at_ns, detail, message
