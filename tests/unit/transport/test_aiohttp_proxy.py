"""What only the aiohttp transport does."""

from __future__ import annotations

import base64

from harness import transport
from harness.target import Target
from harness.timeline import End
from harness.transport.aiohttp_transport import AiohttpTransport
from harness.transport.raw import RawTransport
from scenarios.timeouts import Timeouts
from tests.unit.transport.conftest import CARRIERS, Serve, body_of
from tests.unit.transport.steps import HEAD, LAST, chunk


def test_a_proxy_is_asked_for_the_whole_address(serve: Serve) -> None:
    proxy = serve(lambda _: [HEAD + chunk(b"data: x\n\n") + LAST])
    (timeline,) = CARRIERS["aiohttp-uvloop"].exchange(
        1, address="http://model.invalid:{port}", proxy=f"http://user:pass%21@127.0.0.1:{proxy.port}"
    )
    assert (timeline.end, body_of(timeline)) == (End.COMPLETE, b"data: x\n\n"), timeline.message
    head = proxy.received[0].head
    assert head.startswith(b"POST http://model.invalid:1/v1/chat/completions HTTP/1.1\r\n")
    assert base64.b64encode(b"user:pass!") in head


def test_a_proxy_that_refuses_a_tunnel(serve: Serve) -> None:
    proxy = serve(lambda _: [b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"])
    (timeline,) = CARRIERS["aiohttp-uvloop"].exchange(
        1, address="https://model.invalid:{port}", proxy=f"127.0.0.1:{proxy.port}"
    )
    assert (timeline.end, timeline.detail) == (End.CONNECT_ERROR, "proxy")
    assert proxy.received[0].head.startswith(b"CONNECT model.invalid:1 HTTP/1.1\r\n")


async def test_the_proxy_decides_on_the_transport() -> None:
    straight, by_proxy = Target.parse("h:1"), Target.parse("h:1", proxy="http://p:3128")
    assert isinstance(transport.choose(straight, Timeouts()), RawTransport)
    assert isinstance(transport.choose(by_proxy, Timeouts()), AiohttpTransport)
