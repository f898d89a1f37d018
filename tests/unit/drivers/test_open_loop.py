"""Open loop: due times hold, whatever happens."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from harness.record import Outcome
from harness.summary.pace import Pace
from tests.unit.drivers.conftest import MS, PacedTransport, arrivals

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.drivers import LoadFacts
    from harness.record import Record
    from scenarios.request import Arrival
    from tests.unit.drivers.conftest import Send


def lags_ms(records: list[Record]) -> list[float]:
    return [(record.sent_ns - record.due_ns) / MS for record in records if record.sent_ns is not None]


def test_every_arrival_at_its_due_time(send: Send) -> None:
    records, facts = send(100, 5, loop="open", planned_rate=200)
    assert [record.index for record in sorted(records, key=lambda each: each.index)] == list(range(100))
    assert all(record.due_ns == record.index * 5 * MS for record in records)
    assert min(lags_ms(records)) >= 0
    assert sorted(lags_ms(records))[50] < 5
    assert (facts.num_sent, facts.num_ended, facts.in_flight, facts.dropped_arrivals) == (100, 100, 0, 0)


def test_A6_01_a_cap_makes_requests_late_from_their_due_time(send: Send) -> None:
    """The case's figures, ten times as fast."""
    transport = PacedTransport(0.05)
    records, _ = send(20, 10, transport=transport, loop="open", max_in_flight=1)
    response_s = [(record.done_ns - record.due_ns) / 1e9 for record in records]
    service_s = [(record.done_ns - (record.sent_ns or 0)) / 1e9 for record in records]
    assert transport.num_most == 1
    assert sum(response_s) / 20 == pytest.approx(0.43, rel=0.2)
    assert max(response_s) == pytest.approx(0.81, rel=0.2)
    assert sorted(service_s)[10] == pytest.approx(0.05, rel=0.2)


def test_A6_03_the_time_that_sending_takes_adds_up_to_nothing(send: Send) -> None:
    def costly() -> Iterator[Arrival]:
        for arrival in arrivals(400, 5):
            until_ns = time.monotonic_ns() + 400_000
            while time.monotonic_ns() < until_ns:
                pass
            yield arrival

    records, facts = send(items=costly(), loop="open", planned_rate=200)
    last_ms = max(record.sent_ns or 0 for record in records) / MS
    assert last_ms == pytest.approx(1_995, abs=100)
    assert facts.num_sent == len(records)
    pace = Pace()
    for record in records:
        pace.add(record)
    assert pace.rates() == (pytest.approx(200, rel=1e-6), pytest.approx(200, rel=0.05))


def test_a_late_client_drops_nothing_and_moves_no_due_time(send: Send) -> None:
    async def block(_: asyncio.Event, facts: LoadFacts) -> None:
        while facts.num_sent < 10:  # noqa: ASYNC110 (a driver tells nobody)
            await asyncio.sleep(0.001)
        time.sleep(0.3)  # noqa: ASYNC251 (it is to block the loop)

    records, facts = send(100, 5, loop="open", duration_ns=500 * MS, meanwhile=block)
    assert len(records) == 100
    assert all(record.due_ns == record.index * 5 * MS for record in records)
    assert max(lags_ms(records)) > 250
    assert sum(lag > 20 for lag in lags_ms(records)) >= 50, "all that was overdue shows it"
    assert facts.dropped_arrivals == 0


def test_what_waits_for_the_cap_is_sent_after_the_duration_and_dropped_after_the_grace(send: Send) -> None:
    limits = {"loop": "open", "max_in_flight": 1, "duration_ns": 100 * MS, "grace_ns": 250 * MS}
    records, facts = send(10, 10, service_s=0.1, **limits)
    sent_ms = [record.sent_ns / MS for record in records if record.sent_ns is not None]
    assert max(sent_ms) > 100
    assert 2 <= len(records) <= 4
    assert facts.dropped_arrivals == 10 - len(records)


def test_what_is_in_flight_after_the_grace_is_cut(send: Send) -> None:
    begun_s = time.monotonic()
    records, facts = send(5, 1, service_s=30, loop="open", grace_ns=100 * MS)
    assert time.monotonic() - begun_s < 5
    assert {record.outcome for record in records} == {Outcome.CUT}
    assert (len(records), facts.num_ended) == (5, 5)


def test_stop_ends_it_now(send: Send) -> None:
    async def end(stop: asyncio.Event, facts: LoadFacts) -> None:
        while facts.num_sent < 5:  # noqa: ASYNC110 (a driver tells nobody)
            await asyncio.sleep(0.001)
        stop.set()

    begun_s = time.monotonic()
    records, facts = send(1_000, 10, service_s=30, loop="open", meanwhile=end)
    assert time.monotonic() - begun_s < 5
    assert 5 <= facts.num_sent < 1_000
    assert [record.outcome for record in records] == [Outcome.CUT] * facts.num_sent
    assert facts.dropped_arrivals == 0


def test_a_stop_set_before_the_start_sends_nothing_much(send: Send) -> None:
    async def end(stop: asyncio.Event, _: LoadFacts) -> None:
        stop.set()
        await asyncio.sleep(60)

    records, facts = send(100, 10, loop="open", meanwhile=end)
    assert len(records) == facts.num_sent <= 1


def test_the_count_is_a_limit(send: Send) -> None:
    assert len(send(100, 1, loop="open", num_requests=7)[0]) == 7


def test_a_failing_listener_ends_the_run(send: Send) -> None:
    def fail(record: Record) -> None:
        if record.index == 3:
            raise OSError("disk full")

    begun_s = time.monotonic()
    with pytest.raises(OSError, match="disk full"):
        send(1_000, 10, loop="open", on_record=fail)
    assert time.monotonic() - begun_s < 5


def test_a_failing_schedule_ends_the_run(send: Send) -> None:
    def broken() -> Iterator[Arrival]:
        yield from arrivals(3, 1)
        raise ValueError("no more prompts")

    records: list[Record] = []
    with pytest.raises(ValueError, match="no more prompts"):
        send(items=broken(), service_s=30, loop="open", on_record=records.append)
    assert len(records) == 3


def test_in_flight_by_second(send: Send) -> None:
    _, facts = send(10, 1, service_s=2.2, loop="open")
    assert facts.in_flight_by_second == [10, 10, 10]
