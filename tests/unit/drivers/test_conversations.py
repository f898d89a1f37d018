"""Conversations: history, think time, exact numbers, ends."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import structs

from harness.record import Outcome
from scenarios.request import Arrival, FollowUp, LaterTurn, Message, Prompt
from scenarios.schedule import StopLimits
from tests.unit.drivers.conftest import MS, PacedTransport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from harness.drivers import LoadFacts
    from harness.record import Record
    from harness.timeline import Timeline
    from harness.transport import HttpRequest
    from tests.unit.drivers.conftest import Send

LOOPS: list[dict[str, Any]] = [{"loop": "open"}, {"loop": "closed", "concurrency": 4}]


def conversations(
    *turns: int, gap_ms: float | None = None, think_ms: float = 0, scripted: bool = False
) -> Iterator[Arrival]:
    """One conversation for each number of turns."""
    index = 0
    for number, num_turns in enumerate(turns):
        later = tuple(
            LaterTurn(
                index=index + turn,
                follow_up=FollowUp(
                    added=(Message("user", f"c{number} t{turn + 1}"),),
                    answer=f"script {turn}" if scripted else None,
                ),
                think_ns=round(think_ms * MS),
                sampling={},
            )
            for turn in range(1, num_turns)
        )
        yield Arrival(
            index=index,
            due_ns=None if gap_ms is None else round(number * gap_ms * MS),
            prompt=Prompt(messages=(Message("user", f"c{number} t1"),)),
            sampling={},
            conversation=number,
            later=later,
        )
        index += num_turns


class TalkingTransport(PacedTransport):
    """Thinks aloud, then says how many messages it was sent; keeps what it was sent.

    Attributes:
        asked: The messages of each request.
        fails: Whether the n-th request gets a 500.
    """

    def __init__(self, service_s: float = 0.005, fails: Callable[[int], bool] = lambda _: False) -> None:
        super().__init__(service_s)
        self.asked: list[list[dict[str, str]]] = []
        self.fails = fails

    async def exchange(self, request: HttpRequest, timeline: Timeline) -> None:
        """See ``Transport``."""
        messages = json.loads(request.body)["messages"]
        self.asked.append(messages)
        fails = self.fails(len(self.asked))
        await super().exchange(request, timeline)
        if fails:
            timeline.status, timeline.reads = 500, [b'{"error": {"message": "no"}}']
            return
        deltas = ({"reasoning_content": "hm"}, {"content": f"heard {len(messages)}"}, {"content": " of them"})
        events = [{"choices": [{"delta": delta}]} for delta in deltas]
        events.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
        lines = [f"data: {json.dumps(event)}\n\n" for event in events]
        timeline.reads = ["".join([*lines, "data: [DONE]\n\n"]).encode()]

    def of_conversation(self, number: int) -> list[list[dict[str, str]]]:
        """What was asked in one conversation, turn by turn."""
        return [messages for messages in self.asked if messages[0]["content"] == f"c{number} t1"]


def by_turn(records: list[Record]) -> dict[tuple[int | None, int | None], Record]:
    return {(record.conversation, record.turn): record for record in records}


@pytest.mark.parametrize("limits", LOOPS)
def test_history_holds_what_the_server_said_and_not_what_it_thought(
    send: Send, limits: dict[str, Any]
) -> None:
    transport = TalkingTransport()
    gap_ms = 1.0 if limits["loop"] == "open" else None
    records, _ = send(items=conversations(3, 2, gap_ms=gap_ms), transport=transport, **limits)
    assert len(records) == 5
    assert transport.of_conversation(0)[2] == [
        {"role": "user", "content": "c0 t1"},
        {"role": "assistant", "content": "heard 1 of them"},
        {"role": "user", "content": "c0 t2"},
        {"role": "assistant", "content": "heard 3 of them"},
        {"role": "user", "content": "c0 t3"},
    ]
    assert len(transport.of_conversation(1)) == 2
    assert {record.answer for record in records} == {None}, "the journal keeps no text that nobody asked for"


def test_a_scripted_history_is_the_same_whatever_the_server_says(send: Send) -> None:
    transport = TalkingTransport()
    send(items=conversations(3, scripted=True), transport=transport, loop="closed", concurrency=1)
    assert [each["content"] for each in transport.asked[2]] == [
        "c0 t1",
        "script 1",
        "c0 t2",
        "script 2",
        "c0 t3",
    ]


@pytest.mark.parametrize("limits", LOOPS)
def test_a_turn_is_due_a_think_time_after_the_end_of_the_answer(send: Send, limits: dict[str, Any]) -> None:
    gap_ms = 5.0 if limits["loop"] == "open" else None
    items = conversations(3, 3, 1, gap_ms=gap_ms, think_ms=40)
    records, facts = send(items=items, transport=TalkingTransport(), **limits)
    turns = by_turn(records)
    for number, turn in ((0, 2), (0, 3), (1, 2), (1, 3)):
        record, before = turns[number, turn], turns[number, turn - 1]
        assert record.due_ns == before.done_ns + 40 * MS
        assert record.sent_ns is not None
        assert record.sent_ns >= record.due_ns
    assert [(r.turn, r.num_turns) for r in records if r.conversation == 2] == [(1, 1)]
    assert facts.in_flight == 0


def test_arrivals_wait_for_no_conversation(send: Send) -> None:
    """Open loop: four begin within 30 ms, though each takes 150 ms a turn."""
    items = conversations(2, 2, 2, 2, gap_ms=10)
    records, _ = send(items=items, transport=TalkingTransport(0.15), loop="open")
    firsts = sorted(record.due_ns for record in records if record.turn == 1)
    assert firsts == [0, 10 * MS, 20 * MS, 30 * MS]
    assert len(records) == 8


@pytest.mark.parametrize(
    ("num", "concurrency", "turns"),
    [(300, 100, 4), (10, 4, 3), (7, 100, 5), (1, 1, 3), (50, 7, 50), (9, 3, 1)],
)
@pytest.mark.parametrize("loop", ["open", "closed"])
def test_A7_03_conversations_end_with_exactly_the_asked_number(
    send: Send, num: int, concurrency: int, turns: int, loop: str
) -> None:
    """Requests that neither sessions x turns nor the concurrency divides; the last conversation is cut."""
    limits: dict[str, Any] = (
        {"concurrency": concurrency} if loop == "closed" else {"max_in_flight": concurrency}
    )
    items = conversations(*[turns] * num, gap_ms=0.1 if loop == "open" else None)
    transport = TalkingTransport(0.001)
    records, facts = send(items=items, transport=transport, loop=loop, num_requests=num, **limits)
    assert sorted(record.index for record in records) == list(range(num))
    assert {record.outcome for record in records} == {Outcome.OK}
    assert (facts.in_flight, facts.dropped_arrivals) == (0, 0)
    assert transport.num_most <= concurrency


def test_A7_03_a_closed_loop_makes_up_for_turns_that_failures_have_cost(send: Send) -> None:
    """Every third request fails and takes the rest of its conversation with it: still 100 requests."""
    transport = TalkingTransport(0.001, fails=lambda number: number % 3 == 0)
    records, _ = send(
        items=conversations(*[5] * 200), transport=transport, loop="closed", concurrency=8, num_requests=100
    )
    assert len(records) == len({record.index for record in records}) == 100
    assert Counter(record.outcome for record in records)[Outcome.HTTP_ERROR] == 33


@pytest.mark.parametrize("limits", LOOPS)
def test_A7_03_a_failed_turn_ends_its_conversation(send: Send, limits: dict[str, Any]) -> None:
    """Of a schedule without a limit nothing is made up for: the second of four turns fails."""
    transport = TalkingTransport(fails=lambda number: number == 2)
    gap_ms = 1.0 if limits["loop"] == "open" else None
    records, _ = send(items=conversations(4, gap_ms=gap_ms), transport=transport, **limits)
    assert [(record.turn, record.outcome.value) for record in records] == [(1, "ok"), (2, "http_error")]


def test_a_dead_server_gets_exactly_the_asked_number(send: Send) -> None:
    transport = TalkingTransport(0.001, fails=lambda _: True)
    records, _ = send(
        items=conversations(*[4] * 30), transport=transport, loop="closed", concurrency=3, num_requests=20
    )
    assert len(records) == 20
    assert {record.turn for record in records} == {1}


@pytest.mark.parametrize("limits", LOOPS)
def test_nothing_is_due_after_the_duration(send: Send, limits: dict[str, Any]) -> None:
    """Users who would think beyond the end are not waited for."""
    begun_s = time.monotonic()
    gap_ms = 1.0 if limits["loop"] == "open" else None
    items = conversations(5, 5, gap_ms=gap_ms, think_ms=30_000)
    records, _ = send(items=items, transport=TalkingTransport(), duration_ns=150 * MS, **limits)
    assert {record.turn for record in records} == {1}
    assert time.monotonic() - begun_s < 5


@pytest.mark.parametrize("limits", LOOPS)
def test_thinking_is_no_reason_to_cut(send: Send, limits: dict[str, Any]) -> None:
    """A grace period shorter than a think time begins only when all has been sent."""
    gap_ms = 1.0 if limits["loop"] == "open" else None
    items = conversations(3, 2, gap_ms=gap_ms, think_ms=60)
    records, _ = send(items=items, transport=TalkingTransport(0.01), grace_ns=50 * MS, **limits)
    assert [record.outcome for record in records] == [Outcome.OK] * 5


@pytest.mark.parametrize("limits", LOOPS)
def test_stop_wakes_those_who_think(send: Send, limits: dict[str, Any]) -> None:
    async def end(stop: asyncio.Event, facts: LoadFacts) -> None:
        while facts.num_ended < 2:  # noqa: ASYNC110 (a driver tells nobody)
            await asyncio.sleep(0.001)
        stop.set()

    begun_s = time.monotonic()
    gap_ms = 1.0 if limits["loop"] == "open" else None
    items = conversations(3, 3, gap_ms=gap_ms, think_ms=30_000)
    records, _ = send(items=items, transport=TalkingTransport(), meanwhile=end, **limits)
    assert len(records) == 2
    assert time.monotonic() - begun_s < 5


@pytest.mark.parametrize("limits", LOOPS)
def test_a_limit_ends_conversations_too(send: Send, limits: dict[str, Any]) -> None:
    begun_s = time.monotonic()
    gap_ms = 1.0 if limits["loop"] == "open" else None
    transport = TalkingTransport(fails=lambda number: number >= 2)
    items = conversations(*[3] * 50, gap_ms=gap_ms, think_ms=30_000)
    stop = StopLimits(error_share=0.5, min_ended=4)
    _, facts = send(items=items, transport=transport, stop=stop, **limits)
    assert "stop.error_share" in (facts.stop_reason or "")
    assert time.monotonic() - begun_s < 5


def test_a_cancelled_turn_ends_its_conversation(send: Send) -> None:
    items = (structs.replace(each, cancel_after_ns=5 * MS) for each in conversations(3, 3))
    records, _ = send(items=items, transport=TalkingTransport(1.0), loop="closed", concurrency=2)
    assert [(record.turn, record.detail) for record in records] == [(1, "cancelled")] * 2


def test_a_turn_that_waits_for_a_place_keeps_its_due_time(send: Send) -> None:
    """A cap of one: later turns queue behind the first turns of others and their wait counts."""
    items = conversations(2, 1, 1, gap_ms=1)
    records, facts = send(items=items, transport=TalkingTransport(0.05), loop="open", max_in_flight=1)
    turns = by_turn(records)
    second = turns[0, 2]
    assert second.due_ns == turns[0, 1].done_ns
    assert second.sent_ns is not None
    assert second.sent_ns - second.due_ns > 80 * MS
    assert facts.dropped_arrivals == 0


def test_a_turn_that_gets_no_place_in_time_is_dropped(send: Send) -> None:
    items = conversations(2, 1, gap_ms=1)
    records, facts = send(
        items=items,
        transport=TalkingTransport(0.2),
        loop="open",
        max_in_flight=1,
        duration_ns=250 * MS,
        grace_ns=20 * MS,
    )
    assert sorted((record.conversation, record.turn) for record in records) == [(0, 1), (1, 1)]
    assert facts.dropped_arrivals == 1
