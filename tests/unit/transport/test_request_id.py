"""Each request has an id by which it is found in a server's log."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from harness.timeline import Timeline
from harness.transport import HttpRequest

if TYPE_CHECKING:
    from harness.transport import Transport
    from tests.unit.transport.conftest import Carrier, Serve

REQUEST = HttpRequest("POST", "/v1/chat/completions", b"{}", request_id="tokenpace-12ab-7")
REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def _ids(carrier: Carrier, serve: Serve, request: HttpRequest, headers: dict[str, str]) -> list[bytes]:
    server = serve(lambda _: [REPLY])

    async def work(transport: Transport) -> None:
        await transport.exchange(request, Timeline(time.monotonic_ns()))

    carrier.run(server.port, work, headers=headers)
    lines = server.received[0].head.split(b"\r\n")
    return [line.partition(b": ")[2] for line in lines if line.lower().startswith(b"x-request-id:")]


def test_the_id_is_sent_once(carrier: Carrier, serve: Serve) -> None:
    assert _ids(carrier, serve, REQUEST, {}) == [b"tokenpace-12ab-7"]


def test_an_id_given_by_hand_stands(carrier: Carrier, serve: Serve) -> None:
    assert _ids(carrier, serve, REQUEST, {"x-request-id": "mine"}) == [b"mine"]


def test_without_an_id_none_is_sent(carrier: Carrier, serve: Serve) -> None:
    assert _ids(carrier, serve, HttpRequest("POST", "/", b"{}"), {}) == []
