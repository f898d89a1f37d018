"""Requests by turn."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from harness.summary import Summarizer, SummaryState
from harness.summary.conversations import group_of, turns_of
from harness.window import Window
from reports import turns_view

if TYPE_CHECKING:
    from harness.record import Record
    from tests.conftest import MakeRecord

MS = 1_000_000


def conversations(make_record: MakeRecord, num: int = 40) -> list[Record]:
    """Of 5 turns each: first ones take 200 ms, later ones 50 + turn; half of a history is cached."""
    return [
        make_record(
            5 * number + turn - 1,
            due=1_000 * turn + number,
            chunks=(200 if turn == 1 else 50 + turn, 300),
            prompt_tokens=100 * turn,
            cached_tokens=50 * turn if turn > 1 else 0,
            conversation=number,
            turn=turn,
            num_turns=5,
        )
        for number in range(num)
        for turn in range(1, 6)
    ]


def summary(records: list[Record], window: Window | None = None, loop: str = "open") -> Any:
    summarizer = Summarizer(window or Window(), loop)
    for record in records:
        summarizer.add(record)
    return summarizer.summary(summarizer.snapshot())


def test_groups_grow_by_twos() -> None:
    assert [group_of(turn) for turn in (1, 2, 3, 4, 5, 8, 9, 64, 65, 1_000)] == [0, 1, 2, 2, 3, 3, 4, 6, 7, 7]
    assert [turns_of(group) for group in range(8)] == [
        (1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, 32), (33, 64), (65, None),
    ]  # fmt: skip
    for turn in range(1, 200):
        first, last = turns_of(group_of(turn))
        assert first <= turn <= (last or turn)


def test_first_turns_stand_beside_later_ones(make_record: MakeRecord) -> None:
    found = summary(conversations(make_record)).conversations
    assert (found.num_begun, found.num_broken, found.num_unsent, found.num_unfinished) == (40, 0, 0, 0)
    assert [(turn.label, turn.num_requests) for turn in found.turns] == [
        ("1", 40),
        ("2", 40),
        ("3 to 4", 80),
        ("5 to 8", 40),
    ]
    medians = [turn.ttft[0].value / MS for turn in found.turns]
    assert medians == pytest.approx([200, 52, 53, 55], rel=0.001)
    assert found.later.ttft[0].value / MS == pytest.approx(53, rel=0.001)
    assert [turn.cached_share for turn in found.turns] == [0.0, 0.5, 0.5, 0.5]
    assert [turn.prompt_tokens for turn in found.turns] == [100, 200, 350, 500]
    assert (found.later.label, found.later.n) == ("2 and later", 160)


def test_a_server_that_says_nothing_of_its_cache_has_no_share(make_record: MakeRecord) -> None:
    records = [make_record(0, conversation=0, turn=1, num_turns=1)]
    assert summary(records).conversations.turns[0].cached_share is None


def test_only_the_window_is_counted_by_turn(make_record: MakeRecord) -> None:
    found = summary(conversations(make_record), Window(start_ns=2_000 * MS)).conversations
    assert [turn.label for turn in found.turns] == ["2", "3 to 4", "5 to 8"]
    assert found.num_begun == 40


def test_conversations_that_broke_off_are_counted_and_said(make_record: MakeRecord) -> None:
    fields = {"conversation": 0, "num_turns": 4}
    failed = {"outcome": "http_error", "chunks": ()}
    cut = {"outcome": "cut", "chunks": ()}
    records = [
        make_record(0, turn=1, **fields),
        make_record(1, turn=2, **fields, **failed),  # two turns are never sent
        make_record(4, turn=1, **{**fields, "conversation": 1}, **cut),  # cut by the end of the run
        make_record(8, turn=1, **{**fields, "conversation": 2}),  # its user was still thinking
        make_record(12, turn=1, **{**fields, "conversation": 3}, **cut, detail="cancelled"),
        make_record(16, turn=1, **{**fields, "conversation": 4, "num_turns": 1}, **failed),
    ]
    whole = summary(records)
    found = whole.conversations
    assert (found.num_begun, found.num_broken, found.num_unsent, found.num_unfinished) == (5, 2, 5, 2)
    assert found.turns[1].num_failed == 1
    assert any(
        "2 conversations ended with a turn that failed or was cancelled: 5 later" in n for n in whole.notes
    )
    assert any("2 conversations had turns to come when the run ended" in note for note in whole.notes)


def test_requests_by_themselves_are_no_conversations(make_record: MakeRecord) -> None:
    assert summary([make_record(i) for i in range(3)]).conversations is None
    assert list(turns_view.lines(None)) == []


@pytest.mark.parametrize("seed", range(3))
def test_parts_are_the_whole(make_record: MakeRecord, seed: int) -> None:
    """Bit for bit, whatever the parts and their order."""
    records, chance = conversations(make_record, 30), random.Random(seed)
    whole = Summarizer(Window(), "open")
    parts = [Summarizer(Window(), "open") for _ in range(4)]
    for record in records:
        whole.add(record)
    for record in chance.sample(records, len(records)):
        parts[chance.randrange(4)].add(record)
    merged = Summarizer(Window(), "open")
    for part in chance.sample(parts, 4):
        merged.merge(msgspec.msgpack.decode(msgspec.msgpack.encode(part.state()), type=SummaryState))
    both = [msgspec.json.encode(each.summary(each.snapshot()).conversations) for each in (merged, whole)]
    assert both[0] == both[1]


def test_lines_show_what_a_reader_looks_for(make_record: MakeRecord) -> None:
    found = summary(conversations(make_record)).conversations
    assert turns_view.title(found) == "Turns of 40 conversations"
    lines = list(turns_view.lines(found))
    assert [line.turn for line in lines] == ["1", "2 and later", "2", "3 to 4", "5 to 8"]
    assert lines[0].counts == ("40", "0", "100", "0 %")
    assert lines[1].counts == ("160", "0", "350", "50 %")
    assert lines[0].times[0].startswith("200")
    assert all(len(line.times) == len(line.intervals) == len(turns_view.TIMES) for line in lines)
