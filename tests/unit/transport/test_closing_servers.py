"""Servers that close a kept connection under a request, or never end the body of a stream that is over."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from harness.timeline import End, Timeline
from tests.unit.transport.conftest import REQUEST, Carrier, Serve, body_of
from tests.unit.transport.steps import CLOSE, HEAD, LAST, RESET, STALL, chunk

if TYPE_CHECKING:
    from harness.transport import Transport

EVENT, DONE = b'data: {"x": 1}\n\n', b"data: [DONE]\n\n"
STREAM = HEAD + chunk(EVENT) + chunk(DONE) + LAST
FAREWELL = b"HTTP/1.1 408 Request Time-out\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Marked(Timeline):
    """Knows the end of its stream, as an exchange does."""

    def __init__(self) -> None:
        super().__init__(time.monotonic_ns())
        self.end_marks = (b"[DONE]\n\n",)

    def over_ns(self) -> int | None:
        """See ``Timeline``."""
        for number, at_ns in enumerate(self.read_ns, 1):
            if DONE in b"".join(self.reads[:number]):
                return at_ns
        return None


def exchange(carrier: Carrier, port: int, times: int = 1) -> list[Timeline]:
    async def work(transport: Transport) -> list[Timeline]:
        timelines: list[Timeline] = []
        for _ in range(times):
            timelines.append(Marked())
            await transport.exchange(REQUEST, timelines[-1])
        return timelines

    found: list[Timeline] = carrier.run(port, work, timeouts={"idle": 30, "first_token": 30, "total": 30})
    return found


@pytest.mark.parametrize(
    "ending", [[CLOSE], [RESET], [FAREWELL, CLOSE], [FAREWELL[:20], 0.01, FAREWELL[20:]]]
)
def test_a_request_on_a_connection_that_was_being_closed_is_sent_again_and_counted(
    carrier: Carrier, serve: Serve, ending: list[bytes | float | str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.transport._RACE_NS", 20_000_000_000)  # as long as a busy machine may take
    server = serve(lambda index: ending if index == 1 else [STREAM])
    timelines = exchange(carrier, server.port, times=3)
    assert [each.end for each in timelines] == [End.COMPLETE] * 3, timelines[1].message
    assert [each.status for each in timelines] == [200] * 3
    assert [each.num_resends for each in timelines] == [0, 1, 0]
    assert server.connections == [0, 0, 1, 1]


@pytest.mark.parametrize("ending", [CLOSE, RESET])
def test_a_server_that_works_on_a_request_and_then_closes_has_failed_it(
    carrier: Carrier, serve: Serve, ending: str
) -> None:
    """Later than a race can explain, on a kept connection as on a new one."""
    server = serve(lambda index: [0.3, ending] if index else [STREAM])
    timeline = exchange(carrier, server.port, times=2)[1]
    assert (timeline.end, timeline.num_resends) == (End.RESET, 0), timeline.message
    assert len(server.received) == 2


def test_a_408_on_a_new_connection_is_an_answer(carrier: Carrier, serve: Serve) -> None:
    server = serve(lambda _: [FAREWELL, CLOSE])
    (timeline,) = exchange(carrier, server.port)
    assert (timeline.end, timeline.status, timeline.num_resends) == (End.COMPLETE, 408, 0)


@pytest.mark.parametrize(
    "reply",
    [
        [1.1, FAREWELL, CLOSE],
        [FAREWELL.replace(b"Connection: close\r\n", b"")],
        [FAREWELL.replace(b"408", b"503"), CLOSE],
    ],
    ids=["late", "kept-open", "other-status"],
)
def test_what_is_no_farewell_is_an_answer(
    carrier: Carrier, serve: Serve, reply: list[bytes | float | str]
) -> None:
    server = serve(lambda index: reply if index else [STREAM])
    timeline = exchange(carrier, server.port, times=2)[1]
    assert (timeline.end, timeline.num_resends) == (End.COMPLETE, 0)
    assert timeline.status in (408, 503)
    assert len(server.received) == 2


@pytest.mark.parametrize(
    "done",
    [[chunk(DONE)], [chunk(DONE[:9]), 0.02, chunk(DONE[9:])]],
    ids=["whole", "mark-cut"],
)
def test_a_body_that_doesnt_end_with_its_stream_isnt_waited_for(
    carrier: Carrier, serve: Serve, done: list[bytes | float | str]
) -> None:
    """At most a tenth of a second where its mark was seen; else a look is taken each second."""
    server = serve(lambda _: [HEAD, chunk(EVENT), *done, STALL])
    begun_s = time.monotonic()
    timelines = exchange(carrier, server.port, times=2)
    assert time.monotonic() - begun_s < 8
    assert [each.end for each in timelines] == [End.LEFT_OPEN] * 2
    assert [body_of(each) for each in timelines] == [EVENT + DONE] * 2
    assert server.connections == [0, 1]
    waited_ns = min(each.end_ns - each.read_ns[-1] for each in timelines)
    assert waited_ns > 99_000_000


def test_a_body_that_goes_on_after_its_stream_isnt_waited_for(carrier: Carrier, serve: Serve) -> None:
    server = serve(lambda _: [HEAD, chunk(EVENT + DONE), *[0.03, chunk(b": ping\n\n")] * 300])
    (timeline,) = exchange(carrier, server.port)
    assert timeline.end is End.LEFT_OPEN
    assert timeline.end_ns - timeline.read_ns[0] < 3_000_000_000


def test_a_body_that_ends_a_little_later_keeps_its_connection(
    carrier: Carrier, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.transport.watchdog.END_WAIT_NS", 20_000_000_000)
    server = serve(lambda _: [HEAD, chunk(EVENT), chunk(DONE), 0.02, LAST])
    timelines = exchange(carrier, server.port, times=3)
    assert [each.end for each in timelines] == [End.COMPLETE] * 3
    assert server.connections == [0, 0, 0]


def test_a_mark_in_the_middle_of_a_stream_ends_nothing(carrier: Carrier, serve: Serve) -> None:
    text = b"data: [[DONE]\n\n"
    server = serve(lambda _: [HEAD, chunk(text), 0.2, chunk(text), 0.09, chunk(DONE), 0.03, LAST])
    (timeline,) = exchange(carrier, server.port)
    assert body_of(timeline) == 2 * text + DONE
    waited_ns = timeline.end_ns - timeline.read_ns[-1]
    assert timeline.end is End.COMPLETE or waited_ns >= 100_000_000, "waited for less than it says"
