"""Cancelled requests, limits that end a run, servers that don't reply."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from harness.drivers.backoff import Backoff
from harness.record import Outcome
from harness.timeline import End, Timeline
from scenarios.schedule import StopLimits
from tests.unit.drivers.conftest import MS, PacedTransport, arrivals

if TYPE_CHECKING:
    from harness.transport import HttpRequest
    from tests.unit.drivers.conftest import Send

LOOPS: list[dict[str, Any]] = [{"loop": "open"}, {"loop": "closed", "concurrency": 4}]


class RefusingTransport(PacedTransport):
    """Nobody listens."""

    async def exchange(self, request: HttpRequest, timeline: Timeline) -> None:
        """See ``Transport``."""
        del request
        await asyncio.sleep(0)
        timeline.close(End.CONNECT_ERROR, time.monotonic_ns(), "refused", "nobody listens there")


@pytest.mark.parametrize("limits", LOOPS)
def test_given_up_in_time(send: Send, limits: dict[str, Any]) -> None:
    """Every second request after 50 ms; all would take 200."""
    gap_ms = 5.0 if limits["loop"] == "open" else None
    items = (
        msgspec.structs.replace(each, cancel_after_ns=50 * MS if each.index % 2 else None)
        for each in arrivals(20, gap_ms)
    )
    records, facts = send(items=items, service_s=0.2, **limits)
    ends = {record.index: (record.outcome, record.detail) for record in records}
    assert ends == {i: (Outcome.CUT, "cancelled") if i % 2 else (Outcome.OK, "") for i in range(20)}
    assert all(record.done_ns - record.due_ns >= 49 * MS for record in records)
    assert facts.in_flight == 0


def test_what_ends_before_it_is_given_up_is_as_it_is(send: Send) -> None:
    items = (msgspec.structs.replace(each, cancel_after_ns=5_000 * MS) for each in arrivals(5, 1))
    assert {record.outcome for record in send(items=items, loop="open")[0]} == {Outcome.OK}


def test_what_the_end_of_the_run_cut_is_not_cancelled(send: Send) -> None:
    items = (msgspec.structs.replace(each, cancel_after_ns=5_000 * MS) for each in arrivals(2, 1))
    records, _ = send(items=items, service_s=30, loop="open", grace_ns=50 * MS)
    assert [(record.outcome, record.detail) for record in records] == [(Outcome.CUT, "")] * 2


@pytest.mark.parametrize("limits", LOOPS)
def test_failures_end_the_run(send: Send, limits: dict[str, Any]) -> None:
    gap_ms = 2.0 if limits["loop"] == "open" else None
    stop = StopLimits(error_share=0.5, min_ended=20)
    records, facts = send(1_000, gap_ms, transport=RefusingTransport(0), stop=stop, **limits)
    assert 20 <= len(records) <= 30
    assert facts.stop_reason == "20 of 20 requests had failed (stop.error_share 50 %)"
    assert facts.dropped_arrivals == 0


def test_a_share_that_is_not_passed_ends_nothing(send: Send) -> None:
    records, facts = send(100, 1, loop="open", stop=StopLimits(error_share=0, min_ended=1, in_flight=101))
    assert (len(records), facts.stop_reason) == (100, None)


@pytest.mark.parametrize("max_in_flight", [None, 60])
def test_too_many_in_flight_end_the_run_and_have_the_grace_period(
    send: Send, max_in_flight: int | None
) -> None:
    records, facts = send(
        1_000, 1, service_s=0.3, loop="open", max_in_flight=max_in_flight, stop=StopLimits(in_flight=50)
    )
    assert 50 <= len(records) <= 52
    assert {record.outcome for record in records} == {Outcome.OK}
    assert "50 requests were in flight" in (facts.stop_reason or "")


def test_A7_03_a_dead_port_gets_exactly_the_asked_number_and_no_storm(send: Send) -> None:
    records, facts = send(30, transport=RefusingTransport(0), loop="closed", concurrency=4)
    assert sorted(record.index for record in records) == list(range(30))
    assert facts.num_backoffs == 30


def test_a_dead_port_does_not_make_a_slot_spin(send: Send) -> None:
    records, _ = send(
        items=arrivals(10**6, None),
        transport=RefusingTransport(0),
        loop="closed",
        concurrency=2,
        duration_ns=400 * MS,
    )
    assert len(records) <= 2 * 7  # after 0, 10, 30, 70, 150, 310 ms


def test_waits_double_up_to_a_second_and_begin_anew() -> None:
    backoff = Backoff()
    waits = [backoff.wait_s(replied=False) for _ in range(9)]
    assert waits == [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.0, 1.0]
    assert [backoff.wait_s(replied=True), backoff.wait_s(replied=False)] == [0.0, 0.01]
