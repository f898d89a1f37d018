"""HTTP/1.1 over asyncio streams of bytes, without anything between the socket and the stamp."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from harness.receive_delays import ReceiveDelays
from harness.timeline import End
from harness.transport import REQUEST_ID, HttpRequest, Transport
from harness.transport.connection import Answered, Connection
from harness.transport.connector import Connector
from harness.transport.failures import connect_failure
from harness.transport.watchdog import Watchdog

if TYPE_CHECKING:
    from harness.target import Target
    from harness.timeline import Timeline
    from scenarios.timeouts import Timeouts


class RawTransport(Transport):
    """Keeps every connection that the server keeps, as many as there are requests at a time."""

    def __init__(self, target: Target, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self.receive_delays = ReceiveDelays()
        self._connector = Connector(target, self.receive_delays)
        self._idle: list[Connection] = []
        headers = {"Host": target.authority, "User-Agent": "tokenpace", "Accept-Encoding": "identity"}
        lower = {name.lower() for name in target.headers}
        own = [f"{name}: {value}" for name, value in headers.items() if name.lower() not in lower]
        given = [f"{name}: {value}" for name, value in target.headers.items()]
        self._sends_ids = REQUEST_ID.lower() not in lower
        self._head = "\r\n".join([*own, *given]).encode("latin-1")

    async def exchange(self, request: HttpRequest, timeline: Timeline) -> None:
        """See ``Transport``."""
        data = self._render(request)
        try:
            connection = self._take_idle()
            if connection is not None:
                if await self._send(connection, data, timeline) is Answered.YES:
                    return
                timeline.num_resends += 1
            fresh = await self._connect(timeline)
            if fresh is not None:
                await self._send(fresh, data, timeline)
        except asyncio.CancelledError:
            timeline.close(End.CUT, time.monotonic_ns())
            raise
        except Exception as error:  # noqa: BLE001 (a fault of ours is an outcome too: client_error)
            timeline.close(End.CLIENT_ERROR, time.monotonic_ns(), type(error).__name__, str(error))

    async def close(self) -> None:
        """See ``Transport``."""
        for connection in self._idle:
            connection.abort()
        self._idle.clear()
        await asyncio.sleep(0)
        self._connector.close()

    def _render(self, request: HttpRequest) -> bytes:
        line = f"{request.method} {request.path} HTTP/1.1\r\n".encode("latin-1")
        length = b""
        if request.body:
            length = b"Content-Type: application/json\r\nContent-Length: %d\r\n" % len(request.body)
        rest = f"Accept: {request.accept}\r\n"
        if self._sends_ids and request.request_id is not None:
            rest += f"{REQUEST_ID}: {request.request_id}\r\n"
        return b"".join((line, self._head, b"\r\n", rest.encode("latin-1"), length, b"\r\n", request.body))

    def _take_idle(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if not connection.has_gone_stale():
                return connection
            connection.abort()
        return None

    async def _connect(self, timeline: Timeline) -> Connection | None:
        try:
            async with asyncio.timeout(self._timeouts.connect / 1e9):
                connection, timeline.connect_ns = await self._connector.connect(timeline.end_marks)
        except TimeoutError:
            message = f"no connection within {self._timeouts.connect / 1e9:g} s"
            timeline.close(End.TIMEOUT, time.monotonic_ns(), "connect", message)
            return None
        except Exception as error:  # noqa: BLE001 (whatever it is, it is this request's outcome)
            end, detail, message = connect_failure(error)
            timeline.close(end, time.monotonic_ns(), detail, message)
            return None
        return connection

    async def _send(self, connection: Connection, data: bytes, timeline: Timeline) -> Answered:
        over = connection.send(data, timeline)
        watchdog = Watchdog(
            timeline, self._timeouts, lambda: connection.last_read_ns, connection.abort, connection.catch_up
        )
        try:
            answered = await over
        except asyncio.CancelledError:
            connection.abort()
            raise
        finally:
            watchdog.stop()
        if connection.is_reusable:
            self._idle.append(connection)
        return answered
