"""One client's connection: reads requests one by one, writes without a detour through the event loop."""

from __future__ import annotations

import os
from time import monotonic_ns
from typing import TYPE_CHECKING, Protocol

from reference_server.timetable.faults import error_body
from reference_server.timetable.http_request import (
    MAX_BODY_BYTES,
    BadRequestError,
    HttpRequest,
    RequestParser,
)
from reference_server.timetable.http_response import CONTINUE, JSON, whole_response
from reference_server.timetable.wire import RunningWire, Wire

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.timetable.intake import Intake

MAX_HELD_BACK_BYTES = 16 * 1024 * 1024
_LINGER_NS = 2_000_000_000


class Service(Protocol):
    """What a connection talks to."""

    def opened(self, connection: Connection) -> None:
        """A client has connected."""

    def closed(self, connection: Connection) -> None:
        """It has left."""

    def handle(self, request: HttpRequest, connection: Connection, arrival_ns: int) -> None:
        """Answer it, now or later; then call ``connection.finish``."""

    def after(self, delay_ns: int, job: Callable[[], None]) -> None:
        """Do something then."""


class Pending(Protocol):
    """An answer on its way."""

    def lost(self, reason: str) -> None:
        """The connection is gone."""


class Connection:
    """A connection of HTTP/1.1 with keep-alive and pipelining.

    Writes go to the socket at once, so that a stamp taken just before is the time at which the kernel gets
    the bytes; an event loop would collect them until the end of its turn. Only what the kernel does not take
    is left to the loop.

    Args:
        service: Answers.
        intake: Where requests wait until others have been read.
        wire: The socket.

    Attributes:
        runner: The wire, if it carries out runs.
        answer: What is being answered, None between requests.
        num_held_back: Writes that the kernel did not take at once.
    """

    def __init__(self, service: Service, intake: Intake, wire: Wire) -> None:
        self._service, self._intake, self._wire = service, intake, wire
        self._fd = wire.fd
        self.runner = wire if isinstance(wire, RunningWire) else None
        self._parser = RequestParser()
        self._busy = self._expected = self._leaving = False
        self._received_ns = 0
        self._keeps_alive = True
        self._holds_back = False
        self.answer: Pending | None = None
        self.num_held_back = 0
        service.opened(self)

    def lost(self) -> None:
        """The client is gone, or we are done."""
        self._leaving = True
        self._service.closed(self)
        if self.answer is not None:
            self.answer.lost("client_left")
            self.answer = None

    def received(self, data: bytes, stamp_ns: int) -> None:
        """See whether a request is complete."""
        if self._leaving:
            return
        self._parser.feed(data)
        if not self._busy:
            self._received_ns = stamp_ns
            self._expect_request()
        elif self._parser.num_buffered > MAX_BODY_BYTES:
            self._wire.pause_reading()

    def write(self, data: bytes) -> None:
        """Hand ``data`` to the kernel."""
        if self._holds_back and self._wire.num_held:
            self._hold_back(data)
            return
        try:
            taken = os.write(self._fd, data)
        except BlockingIOError:
            taken = 0
        except OSError:
            self._wire.abort()
            return
        if taken < len(data):
            self._hold_back(data[taken:])

    def note_held_back(self, num_writes: int) -> None:
        """The wire held some writes of a run."""
        if num_writes:
            self._holds_back = True
            self.num_held_back += num_writes

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
            self._wire.close()
        elif self._parser.num_buffered:
            self._wire.resume_reading()
            self._received_ns = monotonic_ns()
            self._expect_request()

    def reset(self) -> None:
        """End with a TCP reset in place of a polite end."""
        self._leaving = True
        self._wire.reset()

    def stop(self, reason: str) -> None:
        """End now, whatever is going on."""
        if self.answer is not None:
            self.answer.lost(reason)
            self.answer = None
        self._leaving = True
        self._wire.abort()

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
        self._wire.end_writing()
        self._service.after(_LINGER_NS, self._wire.abort)

    def _hold_back(self, data: bytes) -> None:
        self._holds_back = True
        self.num_held_back += 1
        if self.answer is not None and self._wire.num_held + len(data) > MAX_HELD_BACK_BYTES:
            self.stop("slow_reader")
        else:
            self._wire.hold(data)
