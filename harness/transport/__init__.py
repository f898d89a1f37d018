"""Transports carry one request to the server and write down what comes back, and when.

A transport does the least that can be done while bytes arrive: it stamps the time before anything else,
takes off the HTTP framing and keeps the bytes. It parses no event and no JSON.

``raw.py`` is the fast one: HTTP/1.1 on an asyncio protocol of our own. ``aiohttp_transport.py`` goes through
proxies.
"""

from __future__ import annotations

import abc
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.receive_delays import ReceiveDelays
    from harness.target import Target
    from harness.timeline import Timeline
    from scenarios.timeouts import Timeouts


REQUEST_ID: Final = "X-Request-Id"
SWITCHED: Final = "the server switches to another protocol (101), though none was asked for"
_UNCODED: Final = ("", "identity")
_FAREWELL_NS: Final = 1_000_000_000
_RACE_NS: Final = 200_000_000
"""A close that was on its way when the request went out comes within a round trip."""


class HttpRequest(msgspec.Struct, frozen=True):
    """What goes over the wire, apart from the headers that every request has.

    Attributes:
        method: ``POST`` or ``GET``.
        path: With query, as it stands in the request line.
        body: JSON, or empty.
        accept: What kind of reply is wanted.
        request_id: Sent as ``X-Request-Id``, by which a server's log can be matched; None to send none.
    """

    method: str
    path: str
    body: bytes = b""
    accept: str = "text/event-stream"
    request_id: str | None = None


class Transport(abc.ABC):
    """Sends requests to one target.

    Attributes:
        receive_delays: How late it reads by the kernel's own stamps; None for one that can't tell.
    """

    receive_delays: ReceiveDelays | None = None

    @abc.abstractmethod
    async def exchange(self, request: HttpRequest, timeline: Timeline) -> None:
        """Send ``request``, fill ``timeline`` and return when it is over.

        Every failure ends up in the timeline. A request is sent a second time only if the server was closing
        the kept-alive connection as it went out: not a byte came (``was_closing``), or a 408 that can't be
        meant for it (``is_farewell``); the timeline counts it. Where a stream is over and its body isn't, the
        connection is closed ``timeline.END_WAIT_NS`` later.

        Raises:
            CancelledError: The caller was cancelled; the timeline has ended as ``CUT``.
        """

    @abc.abstractmethod
    async def close(self) -> None:
        """Close all connections."""


def is_farewell(status: int, *, keeps_alive: bool, after_ns: int) -> bool:
    """Whether a reply on a reused connection is only how the server closed it, while a request came.

    HAProxy and others send a 408 before they close an idle connection. One that keeps a request waiting sends
    it later.

    Args:
        status: Of the reply.
        keeps_alive: False if the server closes after it.
        after_ns: How long after the request was sent it came.
    """
    return status == HTTPStatus.REQUEST_TIMEOUT and not keeps_alive and after_ns < _FAREWELL_NS


def was_closing(after_ns: int) -> bool:
    """Whether a reused connection that ends without a byte was being closed as the request went out.

    A server that takes the request and then breaks off does so later: that is a failure.

    Args:
        after_ns: How long after the request was sent it ended.
    """
    return after_ns < _RACE_NS


def coding_fault(headers: Mapping[str, str]) -> str | None:
    """What is wrong with a body that doesn't stand as it is; None where it does.

    Args:
        headers: By lower-case name.
    """
    coding = headers.get("content-encoding", "")
    if coding.lower() in _UNCODED:
        return None
    return f"a body with content-encoding {coding!r}, though only identity was accepted"


def choose(target: Target, timeouts: Timeouts) -> Transport:
    """The transport for a target: the raw one unless there is a proxy on the way."""
    if target.proxy is None:
        from harness.transport.raw import RawTransport

        return RawTransport(target, timeouts)
    from harness.transport.aiohttp_transport import AiohttpTransport  # aiohttp takes long to import

    return AiohttpTransport(target, timeouts)
