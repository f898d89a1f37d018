"""Every transport, on every event loop, against a scripted server."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.replay_server import ReplayServer

from harness.event_loop import new_event_loop
from harness.receive_delays import ReceiveDelays
from harness.target import Target
from harness.timeline import Timeline
from harness.transport import HttpRequest, Transport
from harness.transport.aiohttp_transport import AiohttpTransport
from harness.transport.raw import RawTransport
from scenarios.timeouts import Timeouts
from tests.unit.transport.steps import Script, replay_of

TLS_FOLDER = Path(__file__).parents[2] / "data" / "tls"
REQUEST = HttpRequest("POST", "/v1/chat/completions", b'{"stream":true}')

Serve = Callable[..., ReplayServer]


class Carrier(NamedTuple):
    """A transport and the loop it runs on."""

    make: Callable[[Target, Timeouts], Transport]
    new_loop: Callable[[], asyncio.AbstractEventLoop]

    def run(
        self,
        port: int,
        work: Callable[[Transport], Awaitable[Any]],
        *,
        address: str = "http://127.0.0.1:{port}",
        timeouts: dict[str, float] | None = None,
        **target: Any,
    ) -> Any:
        """Run ``work`` with a new transport on a new loop."""

        async def main() -> Any:
            limits_ns = {name: round(seconds * 1e9) for name, seconds in (timeouts or {}).items()}
            limits = Timeouts().model_copy(update=limits_ns)
            transport = self.make(Target.parse(address.format(port=port), **target), limits)
            try:
                return await work(transport)
            finally:
                await transport.close()

        with asyncio.Runner(loop_factory=self.new_loop) as runner:
            return runner.run(main())

    def exchange(self, port: int, *, times: int = 1, pause_s: float = 0.0, **options: Any) -> list[Timeline]:
        """Exchange so often, one after the other."""

        async def work(transport: Transport) -> list[Timeline]:
            timelines = []
            for _ in range(times):
                timelines.append(Timeline(time.monotonic_ns()))
                await transport.exchange(REQUEST, timelines[-1])
                await asyncio.sleep(pause_s)
            return timelines

        return self.run(port, work, **options)


class _NoSample(ReceiveDelays):
    """No connection is read with the kernel's stamps."""

    def takes_next(self) -> bool:
        """Never."""
        return False


def _without_reader(target: Target, timeouts: Timeouts) -> RawTransport:
    """Raw, as where there is no C compiler: the first connection is read with the kernel's stamps."""
    transport = RawTransport(target, timeouts)
    transport._connector._has_reader = False
    return transport


def _by_the_loop(target: Target, timeouts: Timeouts) -> RawTransport:
    """The same, every connection carried by the event loop's own transport."""
    transport = _without_reader(target, timeouts)
    transport._connector._receive_delays = _NoSample()
    return transport


CARRIERS = {
    "raw-reader-uvloop": Carrier(RawTransport, new_event_loop),
    "raw-reader-asyncio": Carrier(RawTransport, asyncio.new_event_loop),
    "raw-uvloop": Carrier(_by_the_loop, new_event_loop),
    "raw-asyncio": Carrier(_by_the_loop, asyncio.new_event_loop),
    "raw-stamped-uvloop": Carrier(_without_reader, new_event_loop),
    "raw-stamped-asyncio": Carrier(_without_reader, asyncio.new_event_loop),
    "aiohttp-uvloop": Carrier(AiohttpTransport, new_event_loop),
    "aiohttp-asyncio": Carrier(AiohttpTransport, asyncio.new_event_loop),
}


@pytest.fixture(params=CARRIERS.values(), ids=CARRIERS.keys())
def carrier(request: pytest.FixtureRequest) -> Carrier:
    """Each transport on each loop."""
    assert isinstance(request.param, Carrier)
    return request.param


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start scripted servers; they stop with the test."""
    with contextlib.ExitStack() as servers:

        def start(script: Script, *, tls: bool = False) -> ReplayServer:
            server = servers.enter_context(ReplayServer(_tls_context() if tls else None))
            server.play_by(lambda number: replay_of(script(number)))
            return server

        yield start


@functools.cache
def _tls_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS_FOLDER / "localhost.pem", TLS_FOLDER / "localhost.key")
    return context


def body_of(timeline: Timeline) -> bytes:
    return b"".join(timeline.reads)
