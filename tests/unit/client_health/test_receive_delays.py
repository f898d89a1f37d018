"""The kernel's receive stamps against the harness's own."""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from typing import TYPE_CHECKING

import pytest

from harness.event_loop import run
from harness.receive_delays import CONNECTIONS_PER_SAMPLE, ReceiveDelays
from harness.transport.stamped_socket import StampedSocket, asks_for_stamps

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    Runner = Callable[[Coroutine[Any, Any, None]], None]

US, MS = 1_000, 1_000_000

linux = pytest.mark.skipif(sys.platform != "linux", reason="kernel receive stamps are a matter of Linux")
loops = pytest.mark.parametrize("runner", [run, asyncio.run])


class Seen(asyncio.Protocol):
    """Keeps what it gets."""

    def __init__(self) -> None:
        self.data = b""
        self.lost: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        """See ``asyncio.Protocol``."""
        self.data += data

    def connection_lost(self, exc: Exception | None) -> None:
        """See ``asyncio.Protocol``."""
        self.lost.set_result(exc)


def pair() -> tuple[socket.socket, socket.socket]:
    """A server's end and a client's end of one TCP connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        server, _ = listener.accept()
    client.setblocking(False)
    return server, client


@linux
@loops
def test_R6_what_waits_in_the_kernel_is_seen(runner: Runner) -> None:
    """The loop is blocked 60 ms right after the bytes came."""
    delays = ReceiveDelays()

    async def main() -> None:
        server, client = pair()
        assert asks_for_stamps(client)
        seen = Seen()
        transport = StampedSocket(client, seen, delays)
        await asyncio.sleep(0.01)
        server.sendall(b"token")
        time.sleep(0.06)  # noqa: ASYNC251 (it is to block the loop)
        await asyncio.sleep(0.01)
        assert seen.data == b"token"
        transport.abort()
        assert await seen.lost is None
        server.close()

    runner(main())
    found = delays.histogram()
    assert found.n + delays.num_unstamped == 1
    if found.n:  # the kernel may leave out the very first stamp of all
        assert 59 * MS <= found.maximum * US < 1_000 * MS


@linux
@loops
def test_carries_both_ways_and_tells_the_end(runner: Runner) -> None:
    async def main() -> None:
        server, client = pair()
        seen = Seen()
        transport = StampedSocket(client, seen, ReceiveDelays())
        assert transport.get_extra_info("socket") is client
        data = b"x" * 3_000_000
        transport.write(data)
        server.setblocking(False)
        got = bytearray()
        while len(got) < len(data):
            got += await asyncio.get_running_loop().sock_recv(server, 1 << 20)
        assert got == data
        server.close()
        assert await asyncio.wait_for(seen.lost, 10) is None
        assert transport.is_closing()
        transport.write(b"into the void")
        transport.close()

    runner(main())


@linux
@loops
def test_a_reset_is_told_as_one(runner: Runner) -> None:
    async def main() -> None:
        server, client = pair()
        seen = Seen()
        StampedSocket(client, seen, ReceiveDelays())
        server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        server.close()
        assert isinstance(await asyncio.wait_for(seen.lost, 10), ConnectionResetError)

    runner(main())


@linux
@loops
def test_a_reset_behind_unread_bytes_is_told_after_them(runner: Runner) -> None:
    """libuv reports such a connection once and then never again."""

    async def main() -> None:
        server, client = pair()
        seen = Seen()
        StampedSocket(client, seen, ReceiveDelays())
        await asyncio.sleep(0.01)
        server.sendall(b"x" * 200_000)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        server.close()
        time.sleep(0.05)  # noqa: ASYNC251 (bytes and reset are to be there together)
        assert isinstance(await asyncio.wait_for(seen.lost, 10), ConnectionResetError)
        assert len(seen.data) > 0

    runner(main())


def test_R5_a_wall_clock_that_is_set_leaves_no_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    """One hour ahead or back between receipt and stamp: that sample is left out, the next one counts."""
    delays = ReceiveDelays()
    time.sleep(0.01)
    hour_ns = 3_600 * 10**9
    true_time_ns = time.time_ns
    for shift_ns in (hour_ns, 0, -hour_ns):
        received_ns = time.time_ns()
        monkeypatch.setattr(time, "time_ns", lambda shift_ns=shift_ns: true_time_ns() + shift_ns)
        delays.note(received_ns)
        delays.note(time.time_ns() - MS)
    found = delays.histogram()
    assert found.n == 3
    assert found.minimum * US >= 0.99 * MS
    assert found.maximum * US < 1_000 * MS


def test_one_connection_of_eight_is_sampled_the_first_among_them() -> None:
    delays = ReceiveDelays()
    taken = [delays.takes_next() for _ in range(1 + 100 * CONNECTIONS_PER_SAMPLE)]
    assert taken[0]
    blocks = [
        taken[1 + at : 1 + at + CONNECTIONS_PER_SAMPLE]
        for at in range(0, 100 * CONNECTIONS_PER_SAMPLE, CONNECTIONS_PER_SAMPLE)
    ]
    assert all(sum(block) == 1 for block in blocks)
    assert len({block.index(True) for block in blocks}) > 4


def test_R5_a_clock_that_is_not_the_kernels_leaves_no_delay() -> None:
    """As under a library that fakes the wall clock for a process."""
    delays = ReceiveDelays()
    for shift_ns in (3_600 * 10**9, -3_600 * 10**9):
        delays.note(time.time_ns() + shift_ns)
    assert delays.histogram().n == 0
