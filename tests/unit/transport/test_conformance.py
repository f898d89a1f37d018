"""What every transport does alike."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from typing import TYPE_CHECKING

import pytest

from harness.timeline import SLICE_BYTES, End, Timeline
from tests.unit.transport.conftest import REQUEST, TLS_FOLDER, Carrier, Serve, body_of
from tests.unit.transport.steps import CLOSE, HEAD, LAST, RESET, STALL, chunk, sized

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.transport import Transport

EVENTS = [b"data: %d\n\n" % number for number in range(4)]
STREAM = HEAD + b"".join(map(chunk, EVENTS)) + LAST
BODY = b"".join(EVENTS)


def test_a_chunked_stream(carrier: Carrier, serve: Serve) -> None:
    server = serve(lambda _: [HEAD, *(step for event in EVENTS for step in (0.02, chunk(event))), 0.02, LAST])
    (timeline,) = carrier.exchange(server.port)
    assert timeline.end is End.COMPLETE, timeline.message
    assert (timeline.status, timeline.headers["content-type"]) == (200, "text/event-stream")
    assert timeline.reads == EVENTS
    assert timeline.sent_ns is not None
    assert timeline.headers_ns is not None
    stamps = [timeline.due_ns, timeline.sent_ns, timeline.headers_ns, *timeline.read_ns]
    assert stamps == sorted(stamps)
    assert timeline.end_ns > stamps[-1]


def test_stamps_follow_the_sending_closely(carrier: Carrier, serve: Serve) -> None:
    server = serve(lambda _: [HEAD, *(step for event in EVENTS for step in (0.02, chunk(event))), LAST])
    (timeline,) = carrier.exchange(server.port)
    delays_ns = [at - sent for at, sent in zip(timeline.read_ns, server.sent_ns[1:], strict=False)]
    assert min(delays_ns) > 0
    assert min(delays_ns) < 15_000_000, "not even one stamp was prompt"


def test_a_stamp_is_taken_when_bytes_come_and_not_when_a_task_wakes_up(
    carrier: Carrier, serve: Serve
) -> None:
    """Tasks that hog the loop between two turns of it don't move later stamps onto earlier bytes."""
    server = serve(lambda _: [HEAD, 0.05, chunk(EVENTS[0]), 0.05, chunk(EVENTS[1]), 0.05, LAST])

    async def work(transport: Transport) -> Timeline:
        async def hog() -> None:
            while True:
                time.sleep(0.005)  # noqa: ASYNC251 (it is to block the loop)
                await asyncio.sleep(0)

        hogging = asyncio.ensure_future(hog())
        timeline = Timeline(time.monotonic_ns())
        await transport.exchange(REQUEST, timeline)
        hogging.cancel()
        return timeline

    timeline = carrier.run(server.port, work)
    assert timeline.reads == EVENTS[:2]


@pytest.mark.parametrize("wire", [STREAM, sized(BODY)], ids=["chunked", "sized"])
def test_bytes_may_be_cut_anywhere(carrier: Carrier, serve: Serve, wire: bytes) -> None:
    server = serve(lambda at: [wire[: at + 1], 0.001, wire[at + 1 :]])
    for timeline in carrier.exchange(server.port, times=len(wire) - 1):
        assert (timeline.end, body_of(timeline)) == (End.COMPLETE, BODY), timeline.message


def test_byte_by_byte(carrier: Carrier, serve: Serve) -> None:
    server = serve(lambda _: [STREAM[at : at + 1] for at in range(len(STREAM))])
    (timeline,) = carrier.exchange(server.port)
    assert (timeline.end, body_of(timeline)) == (End.COMPLETE, BODY), timeline.message


@pytest.mark.parametrize(
    "wire",
    [
        b"HTTP/1.1 200 OK\r\n\r\n" + BODY,
        b"HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + BODY,
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + BODY,
    ],
)
def test_a_body_until_close(carrier: Carrier, serve: Serve, wire: bytes) -> None:
    server = serve(lambda _: [wire, 0.01, CLOSE])
    (timeline,) = carrier.exchange(server.port)
    assert (timeline.end, body_of(timeline)) == (End.COMPLETE, BODY), timeline.message


@pytest.mark.parametrize(
    "wire",
    [
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + STREAM,
        HEAD + b"3;name=value\r\nabc\r\n" + b"0\r\nTrailer: x\r\n\r\n",
        HEAD + b"0003\r\nabc\r\n000\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        sized(b"{}", b"X-Folded: a\r\n  b\r\nContent-Encoding:\r\n"),
    ],
    ids=["interim", "extension-trailer", "zeros", "no-content", "folded-and-not-encoded"],
)
def test_what_http_allows(carrier: Carrier, serve: Serve, wire: bytes) -> None:
    server = serve(lambda _: [wire])
    first, second = carrier.exchange(server.port, times=2)
    assert (first.end, second.end) == (End.COMPLETE, End.COMPLETE), first.message
    assert server.connections == [0, 0]


@pytest.mark.parametrize(
    "wire",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
        HEAD + b"data: {}\n\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n",
        HEAD + b"3\r\nabcdef\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X-Filler: %s\r\n" % (b"x" * 8_000) * 200,
    ],
    ids=["ssh", "bad-length", "two-lengths", "gzip", "no-chunks", "switching", "long-chunk", "endless-head"],
)
def test_what_http_forbids(carrier: Carrier, serve: Serve, wire: bytes) -> None:
    server = serve(lambda _: [wire, STALL])
    (timeline,) = carrier.exchange(server.port, timeouts={"first_token": 5, "total": 5})
    assert timeline.end is End.NOT_HTTP, timeline.message
    assert timeline.message
    assert b"gzip" not in wire or not timeline.reads, "nobody can read these"


BROKEN_CHUNKS = (
    *(b"0x3\r\nabc\r\n", b"3\nabc\n", b"-3\r\nabc\r\n", b" 3\r\nabc\r\n", b"1_0\r\nabc\r\n"),
    *(b"3\r\nabcdef\r\n", b"\r\n\r\n", b"xyz\r\n"),
)


@pytest.mark.parametrize("pause_s", [0.0, 0.02])
def test_broken_chunks_are_told_at_once_with_what_came_before(
    carrier: Carrier, serve: Serve, pause_s: float
) -> None:
    """Whether they come with the head, or in a later read."""
    begun = [HEAD + chunk(EVENTS[0]), pause_s] if pause_s else [HEAD]
    prefix = b"" if pause_s else chunk(EVENTS[0])
    server = serve(lambda number: [*begun, prefix + BROKEN_CHUNKS[number], STALL])
    timelines = carrier.exchange(
        server.port, times=len(BROKEN_CHUNKS), timeouts={"idle": 20, "first_token": 20, "total": 20}
    )
    found = [(each.end, each.detail, each.status) for each in timelines]
    assert found == [(End.NOT_HTTP, "framing", 200)] * len(found)
    assert all(body_of(each).startswith(EVENTS[0]) for each in timelines)
    assert all(each.message for each in timelines)


def test_large_heads_are_read(carrier: Carrier, serve: Serve) -> None:
    """Below 64 KiB, in one line or in many."""
    many = b"".join(b"X-%d: y\r\n" % i for i in range(500))
    server = serve(lambda number: [sized(b"x", (b"X: %s\r\n" % (b"y" * 60_000), many)[number])])
    timelines = carrier.exchange(server.port, times=2)
    assert [each.end for each in timelines] == [End.COMPLETE] * 2, [each.message for each in timelines]


@pytest.mark.parametrize(
    ("wire", "ending", "message"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", CLOSE, "no HTTP/1.1 reply: it begins SSH-2.0-OpenSSH_9.2"),
        (
            b"\x15\3\1\0\2\2F",
            STALL,
            r"but TLS (use an https:// address): it begins \x15\x03\x01\x00\x02\x02F",
        ),
        (
            b"HTTP/1.1 200 OK\nA: b\n\ndata: x\n\n",
            CLOSE,
            r"without CR, it begins HTTP/1.1 200 OK\nA: b",
        ),
    ],
    ids=["ssh", "tls", "lf"],
)
def test_what_is_no_http_is_told(
    carrier: Carrier, serve: Serve, wire: bytes, ending: str, message: str
) -> None:
    """Whether the server then closes or waits: with the bytes that came."""
    server = serve(lambda _: [wire, 0.005, ending])
    (timeline,) = carrier.exchange(server.port, timeouts={"first_token": 5, "total": 5})
    assert (timeline.end, timeline.detail) == (End.NOT_HTTP, "framing")
    assert message in timeline.message


def test_a_last_word_behind_an_answer_is_nobodys(carrier: Carrier, serve: Serve) -> None:
    """As of a server that takes the end of the request for another one."""
    last_word = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno"
    server = serve(lambda _: [sized(BODY) + last_word])
    timelines = carrier.exchange(server.port, times=2)
    assert [(each.end, each.status, body_of(each)) for each in timelines] == [(End.COMPLETE, 200, BODY)] * 2
    assert server.connections == [0, 1]


def test_the_request_on_the_wire(carrier: Carrier, serve: Serve) -> None:
    server = serve(lambda _: [sized(b"{}")])
    carrier.exchange(server.port, api_key="sk-key", headers={"X-Team": "tëam", "user-agent": "mine"})
    head, body = server.received[0]
    line, *fields = head.decode("utf-8", "surrogateescape").split("\r\n")
    headers = {name.lower(): value for name, _, value in (field.partition(": ") for field in fields)}
    assert line == "POST /v1/chat/completions HTTP/1.1"
    assert body == REQUEST.body
    assert headers["host"] == f"127.0.0.1:{server.port}"
    assert headers["authorization"] == "Bearer sk-key"
    assert headers["content-length"] == str(len(body))
    assert headers["content-type"] == "application/json"
    assert headers["accept-encoding"] == "identity"
    assert headers["accept"] == "text/event-stream"
    assert headers["user-agent"] == "mine"
    assert "x-team" in headers


def test_a_large_request_arrives_whole(carrier: Carrier, serve: Serve) -> None:
    """More than a socket's buffer takes at once."""
    server = serve(lambda _: [sized(b"{}")])
    request = type(REQUEST)("POST", "/", b"x" * 8_000_000)

    async def work(transport: Transport) -> Timeline:
        timeline = Timeline(time.monotonic_ns())
        await transport.exchange(request, timeline)
        return timeline

    timeline = carrier.run(server.port, work)
    assert timeline.end is End.COMPLETE, timeline.message
    assert server.received[0].body == request.body


def test_a_kept_connection_is_used_again(carrier: Carrier, serve: Serve) -> None:
    server = serve(lambda _: [STREAM])
    timelines = carrier.exchange(server.port, times=3)
    assert server.connections == [0, 0, 0]
    assert timelines[0].connect_ns > 0
    assert [timeline.connect_ns for timeline in timelines[1:]] == [0, 0]


@pytest.mark.parametrize("pause_s", [0.0, 0.01])
def test_a_server_that_closes_after_each_stream_costs_no_request(
    carrier: Carrier, serve: Serve, pause_s: float
) -> None:
    """Without saying so in its head, as llama.cpp's server does."""
    server = serve(lambda _: [STREAM, CLOSE])
    timelines = carrier.exchange(server.port, times=10, pause_s=pause_s)
    assert {timeline.end for timeline in timelines} == {End.COMPLETE}
    assert len(server.received) == 10


@pytest.mark.parametrize("ending", [CLOSE, RESET])
def test_a_kept_connection_closed_under_the_request_is_made_up_for_once(
    carrier: Carrier, serve: Serve, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.transport._RACE_NS", 20_000_000_000)  # as long as a busy machine may take
    server = serve(lambda index: [ending] if index == 1 else [STREAM])
    timelines = carrier.exchange(server.port, times=2)
    assert [timeline.end for timeline in timelines] == [End.COMPLETE, End.COMPLETE], timelines[1].message
    assert server.connections == [0, 0, 1]
    assert timelines[1].connect_ns > 0


def test_nothing_is_sent_again_once_a_byte_has_come(carrier: Carrier, serve: Serve) -> None:
    server = serve(lambda index: [b"HTTP/1.1 2", 0.02, CLOSE] if index else [STREAM])
    timelines = carrier.exchange(server.port, times=2)
    assert (timelines[1].end, timelines[1].detail) == (End.RESET, "no_answer")
    assert timelines[1].message.endswith("amid the head of its answer: HTTP/1.1 2")
    assert len(server.received) == 2


def test_nothing_is_sent_again_on_a_new_connection(carrier: Carrier, serve: Serve) -> None:
    server = serve(lambda _: [CLOSE])
    (timeline,) = carrier.exchange(server.port)
    assert (timeline.end, timeline.detail) == (End.RESET, "no_answer")
    assert len(server.received) == 1


def test_a_reset_in_the_middle(carrier: Carrier, serve: Serve) -> None:
    server = serve(lambda _: [HEAD + chunk(EVENTS[0]), 0.05, RESET])
    (timeline,) = carrier.exchange(server.port)
    assert (timeline.end, body_of(timeline)) == (End.RESET, EVENTS[0])
    assert timeline.message


@pytest.mark.parametrize("begun", [HEAD + chunk(EVENTS[0]), HEAD + chunk(EVENTS[0])[:-4], sized(BODY)[:-3]])
def test_a_polite_close_in_the_middle(carrier: Carrier, serve: Serve, begun: bytes) -> None:
    server = serve(lambda _: [begun, 0.05, CLOSE])
    (timeline,) = carrier.exchange(server.port)
    assert timeline.end is End.CLOSED
    assert body_of(timeline).startswith(EVENTS[0][:5])


def test_a_closed_port(carrier: Carrier) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    (timeline,) = carrier.exchange(port)
    assert (timeline.end, timeline.detail) == (End.CONNECT_ERROR, "refused")
    assert (timeline.sent_ns, timeline.status) == (None, None)


def test_an_unknown_name(carrier: Carrier) -> None:
    (timeline,) = carrier.exchange(80, address="http://tokenpace.invalid:{port}")
    assert (timeline.end, timeline.detail) == (End.CONNECT_ERROR, "name")


@contextlib.contextmanager
def black_hole() -> Iterator[int]:
    """A port that takes no connection and refuses none: its queue is full."""
    with socket.socket() as listener, contextlib.ExitStack() as waiting:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            sock = waiting.enter_context(socket.socket())
            sock.setblocking(False)
            sock.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def test_A7_01_timeout_of_the_connection(carrier: Carrier) -> None:
    with black_hole() as port:
        begun_s = time.monotonic()
        (timeline,) = carrier.exchange(port, timeouts={"connect": 0.2})
    assert (timeline.end, timeline.detail) == (End.TIMEOUT, "connect")
    assert 0.19 < time.monotonic() - begun_s < 2


@pytest.mark.parametrize(
    ("steps", "detail", "limit_s"),
    [
        ([STALL], "first_token", 0.2),
        ([HEAD, STALL], "first_token", 0.2),
        ([HEAD + chunk(EVENTS[0]), STALL], "idle", 0.1),
        ([HEAD, *[0.03, chunk(EVENTS[0])] * 200], "total", 0.4),
    ],
    ids=["no-head", "no-body", "half-open", "endless"],
)
def test_A7_01_timeouts_of_an_answer(
    carrier: Carrier, serve: Serve, steps: list[bytes | float | str], detail: str, limit_s: float
) -> None:
    server = serve(lambda _: steps)
    (timeline,) = carrier.exchange(server.port, timeouts={"first_token": 0.2, "idle": 0.1, "total": 0.4})
    assert (timeline.end, timeline.detail) == (End.TIMEOUT, detail)
    assert timeline.sent_ns is not None
    assert limit_s - 0.01 < (timeline.end_ns - timeline.sent_ns) / 1e9 < limit_s + 0.5


def test_the_first_token_is_not_the_first_byte(carrier: Carrier, serve: Serve) -> None:
    """A stream of comments waits for its first token and is not idle."""

    class Tokenless(Timeline):
        def has_token(self) -> bool:
            return False

    server = serve(lambda _: [HEAD, *[0.03, chunk(b": ping\n\n")] * 100])

    async def work(transport: Transport) -> Timeline:
        timeline = Tokenless(time.monotonic_ns())
        await transport.exchange(REQUEST, timeline)
        return timeline

    timeline = carrier.run(server.port, work, timeouts={"first_token": 0.3, "idle": 0.05, "total": 5})
    assert (timeline.end, timeline.detail) == (End.TIMEOUT, "first_token")


def test_cancelling_cuts(carrier: Carrier, serve: Serve) -> None:
    server = serve(lambda index: [HEAD + chunk(EVENTS[0]), STALL] if index == 0 else [STREAM])

    async def work(transport: Transport) -> list[Timeline]:
        cut, whole = Timeline(time.monotonic_ns()), Timeline(time.monotonic_ns())
        task = asyncio.ensure_future(transport.exchange(REQUEST, cut))
        while not cut.reads:  # noqa: ASYNC110 (a transport tells nobody of a read)
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await transport.exchange(REQUEST, whole)
        return [cut, whole]

    cut, whole = carrier.run(server.port, work)
    assert (cut.end, body_of(cut)) == (End.CUT, EVENTS[0])
    assert whole.end is End.COMPLETE
    assert server.connections == [0, 1], "a cut connection must not be used again"


def test_no_hidden_cap_on_connections(carrier: Carrier, serve: Serve) -> None:
    server = serve(lambda _: [HEAD, 0.5, LAST])

    async def work(transport: Transport) -> list[Timeline]:
        timelines = [Timeline(time.monotonic_ns()) for _ in range(150)]
        await asyncio.gather(*(transport.exchange(REQUEST, timeline) for timeline in timelines))
        return timelines

    timelines = carrier.run(server.port, work)
    assert {timeline.end for timeline in timelines} == {End.COMPLETE}
    assert len(set(server.connections)) == 150


def test_slices_are_announced(carrier: Carrier, serve: Serve) -> None:
    class Sliced(Timeline):
        __slots__ = ("num_slices",)

        def on_slice(self) -> None:
            self.num_slices += 1

    server = serve(lambda _: [sized(b"x" * (5 * SLICE_BYTES))])

    async def work(transport: Transport) -> Sliced:
        timeline = Sliced(time.monotonic_ns())
        timeline.num_slices = 0
        await transport.exchange(REQUEST, timeline)
        return timeline

    timeline = carrier.run(server.port, work)
    assert 1 <= timeline.num_slices <= 5
    assert len(body_of(timeline)) == 5 * SLICE_BYTES


def test_A8_05_a_self_signed_certificate(carrier: Carrier, serve: Serve) -> None:
    server = serve(lambda _: [STREAM], tls=True)
    address = "https://localhost:{port}"
    (refused,) = carrier.exchange(server.port, address=address)
    assert (refused.end, refused.detail) == (End.TLS_ERROR, "certificate"), refused.message
    assert "CA file" in refused.message
    for verify in (TLS_FOLDER / "localhost.pem", False):
        first, second = carrier.exchange(server.port, times=2, address=address, verify=verify)
        assert (first.end, second.end) == (End.COMPLETE, End.COMPLETE), first.message
        assert body_of(second) == BODY
        assert first.connect_ns > 0  # A8-06: the handshake is apart from the answer's times
        assert first.sent_ns is not None
        assert first.sent_ns >= first.due_ns + first.connect_ns
        assert second.connect_ns == 0


def test_tls_towards_a_plain_server(carrier: Carrier) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse() -> None:
            sock, _ = listener.accept()
            sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            sock.close()

        threading.Thread(target=refuse, daemon=True).start()
        port = listener.getsockname()[1]
        (timeline,) = carrier.exchange(port, address="https://localhost:{port}", timeouts={"connect": 2})
    assert (timeline.end, timeline.detail) == (End.TLS_ERROR, "no_tls"), timeline.message


def test_plain_towards_a_tls_server(carrier: Carrier, serve: Serve) -> None:
    server = serve(lambda _: [STREAM], tls=True)
    (timeline,) = carrier.exchange(server.port)
    assert timeline.end in (End.RESET, End.NOT_HTTP)
