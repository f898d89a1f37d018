"""Closed loop: so many at a time, so many in all."""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import TYPE_CHECKING

import pytest

from harness.record import Outcome
from tests.unit.drivers.conftest import MS, PacedTransport, arrivals

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.drivers import LoadFacts
    from harness.record import Record
    from scenarios.request import Arrival
    from tests.unit.drivers.conftest import Send


@pytest.mark.parametrize(("num", "concurrency"), [(10, 3), (3, 10), (1, 1), (100, 100), (30, 8), (0, 4)])
def test_A7_03_exactly_the_asked_number(send: Send, num: int, concurrency: int) -> None:
    transport = PacedTransport(0.05)
    records, facts = send(num, transport=transport, loop="closed", concurrency=concurrency)
    assert sorted(record.index for record in records) == list(range(num))
    assert transport.num_most == min(num, concurrency)
    assert facts.in_flight == 0


def test_a_slot_sends_when_its_last_answer_has_ended(send: Send) -> None:
    records, _ = send(5, service_s=0.02, loop="closed", concurrency=1)
    for last, record in itertools.pairwise(sorted(records, key=lambda each: each.index)):
        assert record.due_ns >= last.done_ns
        assert record.sent_ns is not None
        assert record.sent_ns >= record.due_ns


def endless() -> Iterator[Arrival]:
    return arrivals(1_000_000, None)


def test_the_duration_ends_it(send: Send) -> None:
    records, _ = send(items=endless(), loop="closed", concurrency=4, duration_ns=200 * MS)
    assert max(record.sent_ns or 0 for record in records) <= 200 * MS
    assert {record.outcome for record in records} == {Outcome.OK}
    assert len(records) > 8


def test_the_duration_ends_it_while_all_slots_wait(send: Send) -> None:
    begun_s = time.monotonic()
    records, _ = send(
        items=endless(), service_s=30, loop="closed", concurrency=4, duration_ns=50 * MS, grace_ns=50 * MS
    )
    assert time.monotonic() - begun_s < 5
    assert [record.outcome for record in records] == [Outcome.CUT] * 4


def test_the_count_ends_an_endless_schedule(send: Send) -> None:
    assert len(send(items=endless(), loop="closed", concurrency=4, num_requests=10)[0]) == 10


def test_A6_05_a_ramp_opens_the_slots_one_by_one(send: Send) -> None:
    records, _ = send(
        items=endless(),
        service_s=5,
        loop="closed",
        concurrency=5,
        ramp_ns=500 * MS,
        duration_ns=600 * MS,
        grace_ns=0,
    )
    sent_ms = sorted((record.sent_ns or 0) / MS for record in records)
    assert len(sent_ms) == 5
    for slot, at_ms in enumerate(sent_ms):
        assert 100 * slot <= at_ms < 100 * slot + 80


def test_stop_ends_it_now(send: Send) -> None:
    async def end(stop: asyncio.Event, facts: LoadFacts) -> None:
        while facts.num_sent < 4:  # noqa: ASYNC110 (a driver tells nobody)
            await asyncio.sleep(0.001)
        stop.set()

    records, facts = send(items=endless(), service_s=30, loop="closed", concurrency=4, meanwhile=end)
    assert [record.outcome for record in records] == [Outcome.CUT] * 4
    assert (facts.num_sent, facts.num_ended, facts.in_flight) == (4, 4, 0)


def test_a_failing_listener_ends_the_run(send: Send) -> None:
    def fail(_: Record) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        send(items=endless(), loop="closed", concurrency=4, on_record=fail)
