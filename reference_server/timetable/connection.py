"""One client's connection: reads requests one by one, writes without a detour through the event loop."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from time import monotonic_ns
from typing import TYPE_CHECKING, Protocol, cast

from reference_server.timetable.faults import error_body
from reference_server.timetable.http_request import (
    MAX_BODY_BYTES,
    BadRequestError,
    HttpRequest,
    RequestParser,
)
from reference_server.timetable.http_response import CONTINUE, JSON, whole_response

if TYPE_CHECKING:
    from reference_server.timetable.answer import Answer
    from reference_server.timetable.intake import Intake

MAX_HELD_BACK_BYTES = 16 * 1024 * 1024
_LINGER_S = 2.0
_NO_LINGER = struct.pack("ii", 1, 0)


class Service(Protocol):
    """What a connection talks to."""

    def opened(self, connection: Connection) -> None:
        """A client has connected."""

    def closed(self, connection: Connection) -> None:
        """It has left."""

    def handle(self, request: HttpRequest, connection: Connection, arrival_ns: int) -> None:
        """Answer it, now or later; then call ``connection.finish``."""


class Connection(asyncio.Protocol):
    """A connection of HTTP/1.1 with keep-alive and pipelining.

    Writes go to the socket at once, so that a stamp taken just before is the time at which the kernel gets
    the bytes; the event loop's transport would collect them until the end of its turn. Only what the kernel
    does not take goes through the transport.

    Attributes:
        answer: What is being answered, None between requests.
        num_held_back: Writes that the kernel did not take at once.
    """

    _transport: asyncio.Transport

    def __init__(self, service: Service, intake: Intake) -> None:
        self._service, self._intake = service, intake
        self._parser = RequestParser()
        self._busy = self._expected = self._leaving = False
        self._received_ns = 0
        self._keeps_alive = True
        self._holds_back = False
        self.answer: Answer | None = None
        self.num_held_back = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Get at the socket."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's does not derive from it
        self._socket: socket.socket = transport.get_extra_info("socket")
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._fd = self._socket.fileno()
        self._service.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone, or we are done."""
        del exc
        self._leaving = True
        self._service.closed(self)
        if self.answer is not None:
            self.answer.lost("client_left")
            self.answer = None

    def data_received(self, data: bytes) -> None:
        """Stamp first, then see whether a request is complete."""
        received_ns = monotonic_ns()
        if self._leaving:
            return
        self._parser.feed(data)
        if not self._busy:
            self._received_ns = received_ns
            self._expect_request()
        elif self._parser.num_buffered > MAX_BODY_BYTES:
            self._transport.pause_reading()

    def write(self, data: bytes) -> None:
        """Hand ``data`` to the kernel."""
        if self._holds_back and self._transport.get_write_buffer_size():
            self._hold_back(data)
            return
        try:
            taken = os.write(self._fd, data)
        except BlockingIOError:
            taken = 0
        except OSError:
            self._transport.abort()
            return
        if taken < len(data):
            self._hold_back(data[taken:])

    def reply(self, response: bytes) -> None:
        """Send a whole response."""
        self.write(response)
        self.finish()

    def finish(self, *, closes: bool = False) -> None:
        """The answer is complete: close, or turn to the next request."""
        self.answer = None
        self._busy = False
        if closes or not self._keeps_alive:
            self._leaving = True
            self._transport.close()
        elif self._parser.num_buffered:
            self._transport.resume_reading()
            self._received_ns = monotonic_ns()
            self._expect_request()

    def reset(self) -> None:
        """End with a TCP reset in place of a polite end."""
        self._leaving = True
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self._transport.abort()

    def stop(self, reason: str) -> None:
        """End now, whatever is going on."""
        if self.answer is not None:
            self.answer.lost(reason)
            self.answer = None
        self._leaving = True
        self._transport.abort()

    def _expect_request(self) -> None:
        if not self._expected:
            self._expected = True
            self._intake.put(self._take_request)

    def _take_request(self) -> None:
        self._expected = False
        if self._leaving:
            return
        try:
            request = self._parser.next_request()
        except BadRequestError as error:
            self._refuse(error)
            return
        if request is None:
            self._invite_body()
            return
        self._busy = True
        self._keeps_alive = request.keeps_alive
        self.num_held_back = 0
        self._service.handle(request, self, self._received_ns)

    def _invite_body(self) -> None:
        if self._parser.expects_continue:
            self.write(CONTINUE)

    def _refuse(self, error: BadRequestError) -> None:
        """Answer, then wait a little for the client to read it: a close with unread bytes would reset."""
        body = error_body(error.status, "BadRequestError", str(error))
        self.write(whole_response(error.status, JSON, body, closes=True))
        self._leaving = True
        if not self._transport.is_closing():
            self._transport.write_eof()
            asyncio.get_running_loop().call_later(_LINGER_S, self._transport.abort)

    def _hold_back(self, data: bytes) -> None:
        self._holds_back = True
        self.num_held_back += 1
        if self._transport.get_write_buffer_size() + len(data) > MAX_HELD_BACK_BYTES:
            self.stop("slow_reader")
        else:
            self._transport.write(data)
