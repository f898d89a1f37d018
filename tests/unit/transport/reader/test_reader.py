"""The thread that reads: what it keeps, when it calls, where it stops."""

from __future__ import annotations

import asyncio
import socket
import time
from typing import TYPE_CHECKING

import pytest

from harness.event_loop import new_event_loop
from harness.receive_delays import ReceiveDelays
from harness.transport.reader import NoReaderError, Reader, Source, library
from harness.transport.stamped_socket import asks_for_stamps

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

MARK = b"[DONE]\n\n"


class Ends:
    """Both ends of a connection, one of them read by the thread."""

    def __init__(self, reader: Reader) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            self.far = socket.create_connection(listening.getsockname())
            self.near, _ = listening.accept()
        self.far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.near.setblocking(False)
        asks_for_stamps(self.near)
        self.num_calls = 0
        self.source: Source = reader.add(self.near.fileno(), self._called)

    def _called(self) -> None:
        self.num_calls += 1

    def close(self) -> None:
        """Both, and the source."""
        self.source.close()
        self.near.close()
        self.far.close()


def with_reader(work: Callable[[Reader, Ends], Awaitable[None]]) -> None:
    """Run ``work`` on a loop, with a reader and a connection."""

    async def main() -> None:
        reader = Reader([MARK])
        ends = Ends(reader)
        try:
            await work(reader, ends)
        finally:
            ends.close()
            reader.close()

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(main())


async def until(condition: Callable[[], bool]) -> None:
    """Wait, 5 s at most."""
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 (a counter of C's has no event)
            await asyncio.sleep(0.001)


async def settle() -> None:
    """Time enough for the thread, which needs microseconds."""
    await asyncio.sleep(0.05)


def test_each_read_has_its_own_stamp_while_python_is_busy() -> None:
    """The loop is blocked all the time; no stamp knows of it."""

    async def work(_: Reader, ends: Ends) -> None:
        sent_ns = []
        for number in range(20):
            sent_ns.append(time.monotonic_ns())
            ends.far.sendall(b"%d" % (number % 10))
            time.sleep(0.01)  # noqa: ASYNC251 (blocking is the point)
        reads = ends.source.take()
        assert reads.data == b"01234567890123456789"
        stamps_ns, sizes, delays_ns = reads.columns[::4], reads.columns[1::4], reads.columns[2::4]
        assert list(sizes) == [1] * 20
        late_ns = [stamp - sent for stamp, sent in zip(stamps_ns, sent_ns, strict=True)]
        assert min(late_ns) > 0
        assert sorted(late_ns)[10] < 5_000_000
        assert sum(0 <= delay < 5_000_000 for delay in delays_ns) > 10

    with_reader(work)


def test_it_calls_at_every_read_until_it_is_told_otherwise() -> None:
    async def work(_: Reader, ends: Ends) -> None:
        ends.far.sendall(b"HTTP/1.1 200 OK\r\n")
        await until(lambda: ends.num_calls == 1)
        ends.source.take()
        ends.source.call_always(False)
        ends.far.sendall(b"5\r\nhello\r\n")
        await settle()
        assert ends.num_calls == 1
        assert ends.source.take().data == b"5\r\nhello\r\n"

    with_reader(work)


def test_asked_to_call_it_calls_for_what_lies_there_already() -> None:
    async def work(_: Reader, ends: Ends) -> None:
        ends.source.call_always(False)
        ends.far.sendall(b"x")
        await settle()
        assert not ends.num_calls
        ends.source.call_always(True)
        await until(lambda: ends.num_calls == 1)

    with_reader(work)


@pytest.mark.parametrize(
    "pieces",
    [
        [b"0\r\n\r\n"],
        [b"7\r\n", b"abcdefg\r\n0\r\n", b"\r\n"],
        [b"0\r\nX-Trailer: 1\r\n\r", b"\n"],
        [b"e\r\ndata: [DONE]\n\n\r\n"],
        [b"e\r\ndata: [DO", b"NE]\n\n\r", b"\n"],
    ],
    ids=["end", "end in pieces", "trailer", "mark", "mark in pieces"],
)
def test_it_calls_where_a_stream_may_be_over(pieces: list[bytes]) -> None:
    async def work(_: Reader, ends: Ends) -> None:
        ends.source.call_always(False)
        for piece in pieces:
            assert not ends.num_calls
            ends.far.sendall(piece)
            await settle()
        await until(lambda: ends.num_calls == 1)
        assert ends.source.take().data == b"".join(pieces)

    with_reader(work)


def test_it_calls_when_much_has_gathered() -> None:
    async def work(_: Reader, ends: Ends) -> None:
        ends.source.call_always(False)
        ends.far.sendall(b"x" * 60_000)
        await settle()
        assert not ends.num_calls
        ends.far.sendall(b"x" * 10_000)
        await until(lambda: ends.num_calls == 1)

    with_reader(work)


def test_what_nobody_takes_fills_no_memory() -> None:
    """Of an endless answer no more than a MiB is read until somebody takes it; then it goes on."""

    async def work(_: Reader, ends: Ends) -> None:
        ends.far.setblocking(False)
        ends.source.call_always(False)
        sent = 0

        def send_all() -> int:
            count = 0
            try:
                while count < 64 << 20:
                    count += ends.far.send(b"x" * 65_536)
            except BlockingIOError:
                pass
            return count

        for _ in range(40):
            sent += send_all()
            await asyncio.sleep(0.005)
        assert sent < 24 << 20
        first = len(ends.source.take().data)
        assert 1 << 20 <= first < 2 << 20
        await settle()
        assert len(ends.source.take().data) > 0

    with_reader(work)


def test_a_close_comes_after_what_was_sent() -> None:
    async def work(_: Reader, ends: Ends) -> None:
        ends.source.call_always(False)
        ends.far.sendall(b"last words")
        ends.far.close()
        await until(lambda: ends.num_calls == 1)
        reads = ends.source.take()
        assert (reads.data, reads.is_over, reads.error) == (b"last words", True, 0)

    with_reader(work)


def test_a_reset_is_told_with_its_error() -> None:
    async def work(_: Reader, ends: Ends) -> None:
        ends.far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        ends.far.close()
        await until(lambda: ends.num_calls == 1)
        reads = ends.source.take()
        assert reads.is_over
        assert reads.error

    with_reader(work)


def test_a_source_may_close_while_it_is_called() -> None:
    """Hundreds of connections that come, are called and go at once leave nothing behind."""

    async def work(reader: Reader, _: Ends) -> None:
        for _round in range(5):
            many = [Ends(reader) for _ in range(60)]
            for ends in many:
                ends.far.sendall(b"x")
            for ends in many[::2]:
                ends.close()
            await until(lambda rest=many[1::2]: all(ends.num_calls for ends in rest))
            for ends in many[1::2]:
                ends.close()

    with_reader(work)


def test_its_lateness_is_measured() -> None:
    async def work(reader: Reader, _: Ends) -> None:
        delays = ReceiveDelays()
        assert delays.reader_lag() is None
        delays.read_by(reader)
        time.sleep(0.3)  # noqa: ASYNC251 (the thread goes on meanwhile)
        lag = delays.reader_lag()
        assert lag is not None
        assert lag.n >= 15
        assert lag.percentile(50) < 5_000

    with_reader(work)


@pytest.fixture
def not_loaded() -> Iterator[None]:
    """The library is built anew, here and by whoever comes next."""
    library.load_library.cache_clear()
    yield
    library.load_library.cache_clear()


@pytest.mark.usefixtures("not_loaded")
def test_where_it_cannot_be_built_it_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoReaderError, match="no C compiler was found"):
        library.load_library()


@pytest.mark.usefixtures("not_loaded")
def test_nobody_s_home_is_no_place_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container may run as a user whom its system doesn't know."""

    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(library.Path, "home", no_home)
    with pytest.raises(NoReaderError, match="home directory"):
        library.load_library()


@pytest.mark.usefixtures("not_loaded")
def test_a_failing_compiler_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text('#!/bin/sh\n[ "$1" = --version ] && exit 0\necho "cannot do that" >&2\nexit 1\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(NoReaderError, match="cannot do that"):
        library.load_library()
