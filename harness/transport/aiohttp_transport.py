"""By way of aiohttp: slower, and at home with proxies.

The stamps are as true as the raw transport's: they are taken when aiohttp's protocol gets the bytes, not
when a coroutine wakes up to read them. This rests on one private attribute, ``TCPConnector._factory``, that
makes aiohttp's protocols; the conformance test guards it.
"""

from __future__ import annotations

import asyncio
import base64
import contextvars
import functools
import io
import ssl
import time
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import SplitResult, unquote, urlsplit

import aiohttp
import yarl
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import HttpProcessingError

from harness.timeline import End, EnoughError
from harness.transport import (
    REQUEST_ID,
    SWITCHED,
    HttpRequest,
    Transport,
    coding_fault,
    is_farewell,
    was_closing,
)
from harness.transport.failures import Failure, connect_failure, exchange_failure, no_answer
from harness.transport.head import MAX_HEAD_BYTES, TOO_LONG, NotHttpError, check_begun
from harness.transport.watchdog import Watchdog

if TYPE_CHECKING:
    from aiohttp.streams import StreamReader

    from harness.target import Target
    from harness.timeline import Timeline
    from scenarios.timeouts import Timeouts

_BLANK_LINE: Final = b"\r\n\r\n"


class _Attempt:
    """One sending of a request, from its beginning to the protocol that carries it."""

    def __init__(
        self, timeline: Timeline, timeouts: Timeouts, connecting: asyncio.Timeout, *, is_tls: bool
    ) -> None:
        self.timeline = timeline
        self.is_tls = is_tls
        self.begun_ns = time.monotonic_ns()
        self.handler: StampingHandler | None = None
        self.watchdog: Watchdog | None = None
        self._timeouts = timeouts
        self._connecting = connecting

    def connected(self, handler: StampingHandler) -> None:
        """``handler`` has the connection; the request is sent next."""
        now_ns = time.monotonic_ns()
        self.handler = handler
        self._connecting.reschedule(None)
        self.timeline.connect_ns = 0 if handler.is_reused else now_ns - self.begun_ns
        self.timeline.sent_ns = now_ns
        self.watchdog = Watchdog(self.timeline, self._timeouts, lambda: handler.last_read_ns, handler.give_up)

    def ended(self) -> None:
        if self.watchdog is not None:
            self.watchdog.stop()
        if self.handler is not None:
            self.handler.let_go()

    @property
    def met_a_closed_connection(self) -> bool:
        """True if the server closed a kept-alive connection and never took the request."""
        handler, sent_ns = self.handler, self.timeline.sent_ns
        if self.timeline.end is not None or handler is None or not handler.is_reused or sent_ns is None:
            return False
        ended_ns = handler.lost_ns or time.monotonic_ns()
        return handler.said_farewell or (not handler.last_read_ns and was_closing(ended_ns - sent_ns))


_attempt: contextvars.ContextVar[_Attempt] = contextvars.ContextVar("_attempt")


class StampingHandler(ResponseHandler):
    """aiohttp's protocol, that notes when bytes came and takes them out of aiohttp's buffer at once.

    Attributes:
        last_read_ns: Time of the latest socket read of this exchange, 0 before the first.
        is_reused: True from the second exchange on.
        begun: What has come of the head of this exchange's answer.
        said_farewell: True if the reply to this request is only how the server closed the connection.
        lost_by: What broke the connection, None if it was closed politely or is open.
        lost_ns: When the connection ended, 0 while it is open.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self.last_read_ns = 0
        self.is_reused = False
        self.begun = bytearray()
        self.said_farewell = False
        self.lost_by: BaseException | None = None
        self.lost_ns = 0
        self._timeline: Timeline | None = None
        self._body: StreamReader | None = None
        self._now_ns = 0

    def set_response_params(self, **params: Any) -> None:  # noqa: ANN401 (aiohttp's own signature)
        """aiohttp calls this in the task of the request, right before it writes it."""
        super().set_response_params(**params)
        attempt = _attempt.get()
        if attempt.is_tls and self.transport is not None and not self.transport.get_extra_info("ssl_object"):
            return  # a proxy is asked for a tunnel first: nothing of that is the request's
        self.last_read_ns = 0
        self.begun.clear()
        self._body = None
        self._timeline = attempt.timeline
        attempt.connected(self)

    def data_received(self, data: bytes) -> None:
        """Stamp first, then let aiohttp take off the framing, then keep the body bytes."""
        if not data:  # aiohttp calls this itself, in the middle of the reading below
            super().data_received(data)
            return
        self._now_ns = time.monotonic_ns()
        while data and self._awaits_head:
            num_begun = len(self.begun)
            if not self._begins_reply(data):
                return
            found = self.begun.find(_BLANK_LINE)
            size = len(data) if found < 0 else found + len(_BLANK_LINE) - num_begun
            del self.begun[num_begun + size :]
            self._feed(data[:size])
            data = data[size:]
        if data:
            self._feed(data)

    @property
    def _awaits_head(self) -> bool:
        timeline = self._timeline
        return (
            timeline is not None
            and timeline.status is None
            and timeline.end is None
            and self.exception() is None
        )

    def _feed(self, data: bytes) -> None:
        """Let aiohttp have it: a head by itself, since a fault behind it would hide it."""
        now_ns = self._now_ns
        super().data_received(data)
        self.last_read_ns = now_ns
        self._keep_body(now_ns)
        self._break_body()

    def _keep_body(self, now_ns: int) -> None:
        body, timeline = self._body, self._timeline
        while body is not None and timeline is not None and body.exception() is None:
            if not (piece := body.read_nowait(-1)):
                return
            try:
                timeline.keep(now_ns, piece)
            except EnoughError as enough:
                timeline.close(enough.end, now_ns, enough.detail, str(enough))
                self.give_up()
                return

    def _break_body(self) -> None:
        """Whoever waits for the body's end learns what broke the connection: aiohttp may not say it there."""
        body, fault = self._body, self.exception()
        if body is not None and fault is not None and not body.is_eof() and body.exception() is None:
            body.set_exception(fault)

    def _begins_reply(self, data: bytes) -> bool:
        """False, and the connection given up, where what has come can't become a head: aiohttp takes more."""
        self.begun += data
        head, blank_line, _ = bytes(self.begun).partition(_BLANK_LINE)
        try:
            check_begun(head + blank_line)
            if len(head) > MAX_HEAD_BYTES:
                raise NotHttpError(TOO_LONG)
        except NotHttpError as error:
            assert self._timeline is not None
            self._timeline.close(End.NOT_HTTP, self._now_ns, "framing", str(error))
            self.give_up()
            return False
        return True

    def feed_data(self, data: Any, size: int = 0) -> None:  # noqa: ANN401 (aiohttp's own signature)
        """A response head is complete; its body will come through ``data[1]``.

        One that comes after the answer, as a server's last word before it closes, is nobody's.
        """
        message, body = data
        timeline = self._timeline
        if self.is_reused and timeline is not None and timeline.sent_ns is not None:
            after_ns = self._now_ns - timeline.sent_ns
            keeps_alive = not message.should_close
            self.said_farewell = is_farewell(message.code, keeps_alive=keeps_alive, after_ns=after_ns)
        if message.code < 200:
            del self.begun[: self.begun.find(_BLANK_LINE) + len(_BLANK_LINE)]
        if self.said_farewell:
            self._timeline = None
        elif message.code == HTTPStatus.SWITCHING_PROTOCOLS and timeline is not None:
            timeline.close(End.NOT_HTTP, self._now_ns, "framing", SWITCHED)
        elif message.code >= 200 and timeline is not None and timeline.status is None:
            timeline.headers_ns = self._now_ns
            timeline.status = message.code
            timeline.headers = {name.lower(): value for name, value in message.headers.items()}
            if fault := coding_fault(timeline.headers):
                timeline.close(End.NOT_HTTP, self._now_ns, "framing", fault)
            else:
                self._body = body
        super().feed_data(data, size)

    def connection_lost(self, exc: BaseException | None) -> None:
        """See ``asyncio.Protocol``."""
        self.lost_by, self.lost_ns = exc, time.monotonic_ns()
        super().connection_lost(exc)
        self._break_body()

    def give_up(self) -> None:
        """Close at once."""
        if self.transport is not None:
            self.transport.abort()

    def let_go(self) -> None:
        """The exchange is over."""
        self.is_reused = True
        self._timeline = self._body = None


class AiohttpTransport(Transport):
    """Keeps every connection that the server keeps, as many as there are requests at a time."""

    def __init__(self, target: Target, timeouts: Timeouts) -> None:
        self._target = target
        self._timeouts = timeouts
        self._session: aiohttp.ClientSession | None = None
        self._origin = f"{target.scheme}://{target.authority}"
        proxy = urlsplit(target.proxy or "")
        self._proxy = f"http://{proxy.netloc.rpartition('@')[2]}" if proxy.netloc else None
        self._proxy_headers = _proxy_headers(proxy)

    async def exchange(self, request: HttpRequest, timeline: Timeline) -> None:
        """See ``Transport``."""
        try:
            while await self._try(request, timeline):
                pass
        except asyncio.CancelledError:
            timeline.close(End.CUT, time.monotonic_ns())
            raise

    async def close(self) -> None:
        """See ``Transport``."""
        if self._session is not None:
            await self._session.close()
            self._session = None
            await asyncio.sleep(0)

    async def _try(self, request: HttpRequest, timeline: Timeline) -> bool:
        """Send once; True if that must be done again because the kept-alive connection was closed."""
        connecting = asyncio.timeout(self._timeouts.connect / 1e9)
        is_tls = self._target.scheme == "https"
        attempt = _Attempt(timeline, self._timeouts, connecting, is_tls=is_tls)
        _attempt.set(attempt)
        try:
            async with connecting:
                await self._carry(request, attempt)
        except TimeoutError:
            message = f"no connection within {self._timeouts.connect / 1e9:g} s"
            timeline.close(End.TIMEOUT, time.monotonic_ns(), "connect", message)
        except Exception as error:  # noqa: BLE001 (whatever it is, it is this request's outcome)
            if attempt.met_a_closed_connection:
                timeline.num_resends += 1
                return True
            failure = _failure(error, attempt.handler)
            timeline.close(failure.end, time.monotonic_ns(), failure.detail, failure.message)
        finally:
            attempt.ended()
        return False

    async def _carry(self, request: HttpRequest, attempt: _Attempt) -> None:
        timeline = attempt.timeline
        headers = {"Accept": request.accept, "Accept-Encoding": "identity", "User-Agent": "tokenpace"}
        if request.body:
            headers["Content-Type"] = "application/json"
        if request.request_id is not None:
            headers[REQUEST_ID] = request.request_id
        given = {name.lower() for name in self._target.headers}
        headers = {name: value for name, value in headers.items() if name.lower() not in given}
        async with self._open_session().request(
            request.method,
            yarl.URL(self._origin + request.path, encoded=True),
            data=io.BytesIO(request.body) if request.body else None,
            headers={**headers, **self._target.headers},
            proxy=self._proxy,
            proxy_headers=self._proxy_headers,
            allow_redirects=False,
        ) as response:
            if attempt.met_a_closed_connection:
                raise aiohttp.ServerDisconnectedError
            if timeline.end is not None:
                return
            if (fault := response.content.exception()) is not None:  # nobody is told of it any more
                raise fault
            await response.content.wait_eof()
            timeline.close(End.COMPLETE, self._end_ns(attempt))

    def _end_ns(self, attempt: _Attempt) -> int:
        """The read that completed the body; the close where only that could end it."""
        headers = attempt.timeline.headers
        framed = "transfer-encoding" in headers or "content-length" in headers
        return attempt.handler.last_read_ns if framed and attempt.handler else time.monotonic_ns()

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0, ssl=self._target.tls_context() or True)
            make = functools.partial(StampingHandler, loop=asyncio.get_running_loop())
            connector._factory = cast("functools.partial[ResponseHandler]", make)  # noqa: SLF001 (see the module's docstring)
            self._session = aiohttp.ClientSession(
                connector=connector,
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
                auto_decompress=False,
                max_line_size=MAX_HEAD_BYTES,
                max_field_size=MAX_HEAD_BYTES,
                max_headers=MAX_HEAD_BYTES,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        return self._session


def _proxy_headers(proxy: SplitResult) -> dict[str, str] | None:
    """aiohttp turns this into Proxy-Authorization, of the request or of the tunnel's CONNECT."""
    if proxy.username is None:
        return None
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


def _failure(error: Exception, handler: StampingHandler | None) -> Failure:
    """What an exception of aiohttp means, in the words of the raw transport."""
    if isinstance(error, aiohttp.ClientHttpProxyError):
        wish = "; it wants credentials: http://user:password@host:port" if error.status == 407 else ""
        return Failure(End.CONNECT_ERROR, "proxy", f"the proxy refused with status {error.status}{wish}")
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return connect_failure(_as_exception(error.certificate_error))
    if isinstance(error, aiohttp.ClientConnectorError):
        return connect_failure(error.os_error)
    if handler is None:
        return _tunnel_failure(error)
    if isinstance(error, aiohttp.ClientResponseError | HttpProcessingError):
        return Failure(End.NOT_HTTP, "framing", error.message or "broken framing")
    if isinstance(error, ssl.SSLError):
        return exchange_failure(error)
    if isinstance(handler.lost_by, OSError):
        return exchange_failure(handler.lost_by)
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return no_answer(handler.begun)
    if isinstance(error, aiohttp.ClientPayloadError):
        return Failure(End.CLOSED, "", "the server closed the connection in the middle of the answer")
    return exchange_failure(error)


def _tunnel_failure(error: Exception) -> Failure:
    """What an exception means before the request could be sent: only a proxy can have answered."""
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return Failure(End.CONNECT_ERROR, "proxy", "the proxy closed the connection without an answer")
    if isinstance(error, aiohttp.ClientResponseError):
        return Failure(End.CONNECT_ERROR, "proxy", f"the proxy's answer is none: {error.message}")
    return connect_failure(error)


def _as_exception(error: BaseException | str) -> Exception:
    return error if isinstance(error, Exception) else OSError(str(error))
