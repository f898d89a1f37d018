"""R4: every fault of a server or a network is told apart, none is taken for a success, none is lost."""

from __future__ import annotations

import contextlib
import dataclasses
import socket
from typing import TYPE_CHECKING, Any

import pytest
from support.replay_server import (
    CHUNKED_HEAD,
    Ending,
    Piece,
    Replay,
    ReplayServer,
    after,
    chunked,
    head,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from harness.record import Record
    from tests.robustness.conftest import Send

TIMEOUTS = {"connect": 0.5, "first_token": 0.8, "idle": 0.6, "total": 1.5}
SLACK_S = 0.5
TRIES = 3
S = 10**9


def token(text: str, finish: str = "null") -> bytes:
    return b'data: {"choices":[{"index":0,"delta":{"content":"%b"},"finish_reason":%b}]}\n\n' % (
        text.encode(),
        finish.encode(),
    )


TOKENS = [token(word) for word in ("one", "two", "three", "four")]
LAST, DONE = token("five", '"stop"'), b"data: [DONE]\n\n"
GOOD = [*TOKENS, LAST, DONE]
ERROR_EVENT = b'data: {"error":{"message":"out of memory","type":"InternalServerError","code":500}}\n\n'
OVERLOADED = b'{"error":{"message":"overloaded","code":429}}'


def stream(*events: bytes) -> list[Piece]:
    return after(0.002, chunked(events))


def unended(*events: bytes) -> list[Piece]:
    """As ``stream``, without the last chunk of the transfer coding."""
    return stream(*events)[:-1]


@dataclasses.dataclass(frozen=True)
class Fault:
    """What a server does, and what must be said of it.

    Attributes:
        replay: What each request gets; None where nobody answers at all.
        outcome: With its sub-class.
        num_tokens: Chunks that came all the same.
        limit: The timeout that must end it.
    """

    replay: Replay | None
    outcome: tuple[str, str]
    num_tokens: int = 0
    limit: str | None = None


FAULTS = {
    "refused": Fault(None, ("connect_error", "refused")),
    "black_hole": Fault(None, ("timeout", "connect"), limit="connect"),
    "reset_midway": Fault(Replay(CHUNKED_HEAD, unended(*TOKENS), Ending.RESET), ("reset", ""), 4),
    "end_midway": Fault(Replay(CHUNKED_HEAD, unended(*TOKENS), Ending.CLOSE), ("truncated", ""), 4),
    "silence": Fault(Replay(CHUNKED_HEAD, (), Ending.STALL), ("timeout", "first_token"), 0, "first_token"),
    "drip": Fault(
        Replay(CHUNKED_HEAD, [*unended(*TOKENS), *after(0.05, [b"3\r\n:\n\n\r\n"] * 100)]),
        ("timeout", "total"),
        4,
        "total",
    ),
    "stall": Fault(
        Replay(CHUNKED_HEAD, [*unended(*TOKENS), (30.0, b"".join(chunked([LAST, DONE])))]),
        ("timeout", "idle"),
        4,
        "idle",
    ),
    "truncated_json": Fault(
        Replay(CHUNKED_HEAD, stream(*TOKENS, b'data: {"choices":[{"delta":{"con\n\n', DONE), Ending.KEEP),
        ("bad_response", "malformed_event"),
        4,
    ),
    "no_end": Fault(Replay(CHUNKED_HEAD, stream(*TOKENS), Ending.KEEP), ("truncated", ""), 4),
    "wrong_type": Fault(
        whole(b"<html>Sign in</html>", content_type="text/html"), ("bad_response", "not_json")
    ),
    "error_event": Fault(
        Replay(CHUNKED_HEAD, stream(*TOKENS, ERROR_EVENT, DONE), Ending.KEEP), ("stream_error", ""), 4
    ),
    "too_many_requests": Fault(
        whole(OVERLOADED, "429 Too Many Requests", "application/json", "Retry-After: 1"), ("rejected", "429")
    ),
    "no_answer": Fault(Replay(b"", (), Ending.CLOSE), ("reset", "no_answer")),
}
"""Those of the goal, and a connection that ends without a byte of an answer."""

SOUND = {
    "coalesced": Replay(CHUNKED_HEAD, [(0.0, b"".join(chunked(GOOD)))], Ending.KEEP),
    "byte_by_byte": Replay(
        CHUNKED_HEAD, after(0.0005, [bytes([each]) for each in b"".join(chunked(GOOD))]), Ending.KEEP
    ),
    "no_done": Replay(CHUNKED_HEAD, stream(*TOKENS, LAST), Ending.KEEP),
    "closed_at_the_end": Replay(head(), after(0.002, GOOD), Ending.CLOSE),
}
"""What looks like a fault and is none."""


@contextlib.contextmanager
def serving(name: str) -> Iterator[str]:
    """The address of a server that has the fault."""
    if name == "refused":
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    elif name == "black_hole":
        with full_backlog() as port:
            yield f"http://127.0.0.1:{port}"
    else:
        replay = FAULTS[name].replay if name in FAULTS else SOUND[name]
        assert replay is not None
        with ReplayServer() as server:
            server.play(replay)
            yield server.url


@contextlib.contextmanager
def full_backlog() -> Iterator[int]:
    """A port whose queue of connections is full, so that the kernel drops every further SYN."""
    with contextlib.ExitStack() as sockets:
        listening = sockets.enter_context(socket.socket())
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        address = listening.getsockname()
        for _ in range(4):
            waiting = sockets.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(address)
        yield address[1]


NUMBERS = [20, pytest.param(100, marks=pytest.mark.soak)]


@pytest.mark.parametrize("num", NUMBERS)
@pytest.mark.parametrize("name", FAULTS)
def test_R4_a_fault_has_a_class_of_its_own(name: str, num: int, send: Send) -> None:
    """Not one of many is classed otherwise, and a timeout ends in its time and half a second: three tries."""
    fault = FAULTS[name]
    late_s: list[float] = []
    while not late_s or (late_s[-1] > SLACK_S and len(late_s) < TRIES):
        with serving(name) as url:
            records = send(url, num, slots=20, timeouts_s=TIMEOUTS)
        found = {(record.outcome.value, record.detail) for record in records}
        assert found == {fault.outcome}
        assert {record.index for record in records} == set(range(num))
        assert {len(record.chunk_ns) for record in records} == {fault.num_tokens}
        assert all(record.message for record in records)
        assert not any(record.outcome.succeeded for record in records)
        late_s.append(max(map(lateness(fault.limit), records)))
    assert late_s[-1] <= SLACK_S, late_s


def lateness(limit: str | None) -> Callable[[Record], float]:
    """By how much a request outlasted the limit that had to end it, in s; 0 where there is none."""

    def of(record: Record) -> float:
        if limit is None:
            return 0.0
        begin_ns = record.due_ns if record.sent_ns is None else record.sent_ns
        if limit == "idle":
            begin_ns = record.chunk_ns[-1]
        lasted_s = (record.done_ns - begin_ns) / S
        assert lasted_s > TIMEOUTS[limit] - 0.01
        return lasted_s - TIMEOUTS[limit]

    return of


def test_R4_no_two_faults_share_a_class_without_need() -> None:
    """A stream that ends without a finish is truncated, whether the connection ends with it or not."""
    classes: dict[tuple[str, str], list[str]] = {}
    for name, fault in FAULTS.items():
        classes.setdefault(fault.outcome, []).append(name)
    assert [names for names in classes.values() if len(names) > 1] == [["end_midway", "no_end"]]


@pytest.mark.parametrize("num", NUMBERS)
@pytest.mark.parametrize("name", SOUND)
def test_R4_what_is_no_fault_is_a_success(name: str, num: int, send: Send) -> None:
    with serving(name) as url:
        records = send(
            url, num, slots=20, timeouts_s={**TIMEOUTS, "total": 60.0, "idle": 20, "first_token": 20}
        )
    assert {record.outcome.value for record in records} == {"ok"}
    assert {len(record.chunk_ns) for record in records} == {5}
    if name == "coalesced":
        assert {record.coalesced_chunks for record in records} == {4}


def test_R4_faults_mixed_are_told_apart(replay_server: ReplayServer, send: Send) -> None:
    """One after the other on what may be the same connections.

    Where such a one ends without a byte of an answer the request is sent again, so that fault is left out.
    """
    names = [name for name, fault in FAULTS.items() if fault.replay is not None and fault.limit is None]
    names.remove("no_answer")
    replays: list[Any] = [FAULTS[name].replay for name in names]
    replay_server.play(*replays * 5, whole(b"", "500 Oh No"))
    records = sorted(
        send(replay_server.url, 5 * len(names), slots=1, timeouts_s=TIMEOUTS), key=lambda r: r.index
    )
    found = [(record.outcome.value, record.detail) for record in records]
    assert found == [FAULTS[name].outcome for name in names] * 5
