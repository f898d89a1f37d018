"""The small parts: capacity, wheel, freezes, log, words."""

from __future__ import annotations

import asyncio
import json
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

from reference_server.timetable.alarm import LoopAlarm, make_alarm
from reference_server.timetable.capacity import Capacity
from reference_server.timetable.freeze import Freeze, Freezer, parse_freeze
from reference_server.timetable.log import Entry, Log
from reference_server.timetable.wheel import SLOT_NS, TimerWheel
from reference_server.timetable.words import Vocabulary, count_message_tokens, count_prompt_tokens

if TYPE_CHECKING:
    from pathlib import Path

MS = 1_000_000


def test_capacity_serves_in_order_of_arrival() -> None:
    capacity, begun = Capacity(2), list[int]()
    for number in range(4):
        capacity.enter(number, lambda _, number=number: begun.append(number))
    assert (begun, capacity.num_running, capacity.num_waiting) == ([0, 1], 2, 2)
    capacity.leave()
    assert (begun, capacity.num_running, capacity.num_waiting) == ([0, 1, 2], 2, 1)
    for _ in range(3):
        capacity.leave()
    assert (begun, capacity.num_running, capacity.num_waiting) == ([0, 1, 2, 3], 0, 0)


def test_capacity_forgets_who_gives_up() -> None:
    capacity, begun = Capacity(1), list[str]()

    def impatient(start_ns: int) -> None:
        begun.append(f"impatient at {start_ns}")

    capacity.enter(0, lambda _: begun.append("first"))
    capacity.enter(1, impatient)
    capacity.give_up(impatient)
    capacity.leave()
    assert (begun, capacity.num_running) == (["first"], 0)


async def test_wheel_keeps_order_and_is_never_early() -> None:
    wheel, done = TimerWheel(partial(make_alarm, asyncio.get_running_loop())), asyncio.Event()
    begin_ns, rung = time.monotonic_ns(), list[tuple[int, int]]()
    offsets = [7 * MS, 2 * MS, 2 * MS + 10 * SLOT_NS, 0, 4 * MS]

    def ring(offset: int) -> None:
        rung.append((offset, time.monotonic_ns() - begin_ns))
        if len(rung) == len(offsets):
            done.set()

    for offset in offsets:
        wheel.add(begin_ns + offset, lambda offset=offset: ring(offset))
    await asyncio.wait_for(done.wait(), 10)
    wheel.close()
    assert [offset for offset, _ in rung] == sorted(offsets)
    assert all(at >= offset for offset, at in rung)


async def test_wheel_takes_other_events_while_behind() -> None:
    """A job that is always late gives way to the event loop after each turn."""
    wheel, loop = TimerWheel(partial(make_alarm, asyncio.get_running_loop())), asyncio.get_running_loop()
    turns, other = 0, asyncio.Event()

    def late() -> None:
        nonlocal turns
        turns += 1
        if not other.is_set() and turns < 100_000:
            wheel.add(time.monotonic_ns() - MS, late)

    wheel.add(time.monotonic_ns(), late)
    loop.call_later(0.01, other.set)
    await asyncio.wait_for(other.wait(), 10)
    wheel.close()
    assert 1 < turns < 100_000


async def test_loop_alarm_rings_once_unless_silenced() -> None:
    rung = list[int]()
    alarm = LoopAlarm(asyncio.get_running_loop(), lambda: rung.append(1))
    alarm.set(time.monotonic_ns() + 5 * MS)
    alarm.set(time.monotonic_ns() + 1 * MS)
    await asyncio.sleep(0.05)
    alarm.set(time.monotonic_ns() + 5 * MS)
    alarm.close()
    await asyncio.sleep(0.03)
    assert rung == [1]


def test_freeze_is_read_or_refused() -> None:
    assert parse_freeze("10s+500ms") == Freeze(10_000 * MS, 500 * MS)
    with pytest.raises(ValueError, match=r"start\+length"):
        parse_freeze("10s")


async def test_freeze_ends_at_once_when_the_server_stops() -> None:
    wheel = TimerWheel(partial(make_alarm, asyncio.get_running_loop()))
    freezer = Freezer([Freeze(0, 60_000 * MS)], wheel, stopping=lambda: True)
    freezer.request_arrived(time.monotonic_ns())
    began = time.monotonic()
    await asyncio.sleep(0.01)
    wheel.close()
    assert time.monotonic() - began < 30


def test_log_gives_the_lines_after_those_seen(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    for index in range(5):
        log.append(Entry(index=index, request_id=f"r{index}", endpoint="/", stream=True, arrival_ns=1))
    assert [json.loads(line)["index"] for line in log.lines(after=3)] == [3, 4]
    assert list(log.lines(after=9)) == []
    log.clear()
    assert list(log.lines()) == []
    log.close()
    assert len((tmp_path / "log").read_text().splitlines()) == 5


def test_log_line_holds_the_stamps() -> None:
    entry = Entry(index=0, request_id=None, endpoint="/", stream=True, arrival_ns=1)
    entry.token_ns.extend([2**62, 2**62 + 1])
    assert json.loads(entry.line())["token_ns"] == [2**62, 2**62 + 1]


def test_one_word_is_one_token() -> None:
    vocabulary = Vocabulary(1)
    for num_tokens in (1, 2, 7):
        assert count_prompt_tokens(vocabulary.text(65_533, num_tokens).decode()) == num_tokens
    assert vocabulary.text(5, 20) == Vocabulary(1).text(5, 20) != Vocabulary(2).text(5, 20)


def test_prompt_tokens_of_every_form() -> None:
    assert count_prompt_tokens("a b  c\n d") == 4
    assert count_prompt_tokens([5, 6, 7]) == 3
    parts = [{"type": "text", "text": "two words"}, {"type": "image_url"}]
    assert (
        count_message_tokens([{"role": "user", "content": parts}, {"content": "one"}, {"content": None}]) == 3
    )
