"""What only the aiohttp transport does."""

from __future__ import annotations

import base64
import contextlib
import select
import socket
import threading
import time
from typing import TYPE_CHECKING

import pytest

from harness import transport
from harness.target import Target
from harness.timeline import End
from harness.transport.aiohttp_transport import AiohttpTransport
from harness.transport.raw import RawTransport
from scenarios.timeouts import Timeouts
from tests.unit.transport.conftest import CARRIERS, TLS_FOLDER, Serve, body_of
from tests.unit.transport.steps import CLOSE, HEAD, LAST, STALL, chunk

if TYPE_CHECKING:
    from collections.abc import Iterator


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
    assert (timeline.status, timeline.sent_ns) == (None, None), (
        "a status of the proxy's is none of the server's"
    )
    assert proxy.received[0].head.startswith(b"CONNECT model.invalid:1 HTTP/1.1\r\n")


@pytest.mark.parametrize(
    ("steps", "end", "detail"),
    [
        ([CLOSE], End.CONNECT_ERROR, "proxy"),
        ([b"SSH-2.0-OpenSSH_9.2\r\n", 0.01, CLOSE], End.CONNECT_ERROR, "proxy"),
        ([STALL], End.TIMEOUT, "connect"),
    ],
    ids=["closes", "no-http", "hangs"],
)
def test_a_proxy_that_makes_no_tunnel(
    serve: Serve, steps: list[bytes | float | str], end: End, detail: str
) -> None:
    """The request was never sent."""
    proxy = serve(lambda _: steps)
    (timeline,) = CARRIERS["aiohttp-uvloop"].exchange(
        1,
        address="https://model.invalid:{port}",
        proxy=f"127.0.0.1:{proxy.port}",
        timeouts={"connect": 0.3, "first_token": 5},
    )
    assert (timeline.end, timeline.detail) == (end, detail), timeline.message
    assert (timeline.status, timeline.sent_ns) == (None, None)


@contextlib.contextmanager
def tunnel(port: int) -> Iterator[int]:
    """A proxy that tunnels one connection to that port: its own port."""

    def carry(listener: socket.socket) -> None:
        here, _ = listener.accept()
        with here, socket.create_connection(("127.0.0.1", port)) as there:
            while b"\r\n\r\n" not in here.recv(65_536):
                pass
            time.sleep(0.1)
            here.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            while True:
                for source in select.select([here, there], [], [], 5)[0]:
                    data = source.recv(65_536)
                    if not data:
                        return
                    (there if source is here else here).sendall(data)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        carrying = threading.Thread(target=carry, args=(listener,))
        carrying.start()
        yield listener.getsockname()[1]
    carrying.join(10)


@pytest.mark.parametrize("name", ["aiohttp-uvloop", "aiohttp-asyncio"])
def test_through_a_tunnel(serve: Serve, name: str) -> None:
    """The proxy's own answer leaves no trace, neither in the head nor in the body nor in the time limits."""
    body = [chunk(b"data: x\n\n"), 0.1] * 5
    server = serve(lambda _: [HEAD, *body, LAST], tls=True)
    with tunnel(server.port) as port:
        first, second = CARRIERS[name].exchange(
            server.port,
            times=2,
            address="https://localhost:{port}",
            verify=TLS_FOLDER / "localhost.pem",
            proxy=f"127.0.0.1:{port}",
            timeouts={"idle": 0.4, "first_token": 5},
        )
    assert (first.end, second.end) == (End.COMPLETE, End.COMPLETE), first.message
    assert body_of(first) == body_of(second) == b"data: x\n\n" * 5
    assert first.connect_ns > 100_000_000
    assert second.connect_ns == 0
    assert first.headers_ns is not None
    assert first.sent_ns is not None
    assert first.sent_ns - first.due_ns >= first.connect_ns
    assert server.connections == [0, 0]


async def test_the_proxy_decides_on_the_transport() -> None:
    straight, by_proxy = Target.parse("h:1"), Target.parse("h:1", proxy="http://p:3128")
    assert isinstance(transport.choose(straight, Timeouts()), RawTransport)
    assert isinstance(transport.choose(by_proxy, Timeouts()), AiohttpTransport)
