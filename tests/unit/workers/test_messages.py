"""What workers say is a value that any transport can carry."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from support.result_folders import manifest

from harness.address import Address
from harness.client_health import HealthProbe
from harness.drivers import LoadFacts
from harness.live_view import LiveView
from harness.load_status import LoadStatus, merged
from harness.summary.pace import Pace, PaceState
from harness.tally import VERSION, Part, PartError, Tally
from harness.workers.channel import Channel
from harness.workers.limits import CommonLimits
from harness.workers.messages import Beat, Done, Order, Ready, Start, decode, encode
from scenarios.scenario import scenario_from
from scenarios.schedule import StopLimits

if TYPE_CHECKING:
    from reports.result import ClientHealth
    from tests.conftest import MakeRecord

MS = 1_000_000
SCENARIO = scenario_from(
    {
        "name": "told",
        "load": {"arrivals": "constant", "rate": 5, "requests": 9},
        "prompts": {"source": "text", "text": "hello"},
        "thresholds": {"ttft": ["p95 < 1s"]},
    }
)
MANIFEST = manifest(scenario=SCENARIO.to_mapping())
ADDRESS = Address(base_url="127.0.0.1:1", api_key="sk-canary", headers={"X": "y"}, verify=True, proxy=None)
BLANK = HealthProbe().report(LoadFacts(), is_open=True)


def health(**fields: Any) -> ClientHealth:
    return msgspec.structs.replace(BLANK, **fields)


def status(**fields: Any) -> LoadStatus:
    live, pace = LiveView().state(), Pace().state()
    return LoadStatus(**{"pace": pace, "live": live, "health": BLANK, **fields})


def test_an_order_arrives_as_it_was_sent() -> None:
    order = Order(
        manifest=MANIFEST, address=ADDRESS, worker=1, num_workers=3, journal="/x/journal-2.jsonl", beat_s=0.5
    )
    assert decode(encode(order)) == order


def test_A9_01_an_order_shows_no_key() -> None:
    order = Order(manifest=MANIFEST, address=ADDRESS, worker=0, num_workers=2, journal="j", beat_s=1)
    assert "sk-canary" not in repr(order)


def test_what_a_worker_counted_arrives_whole(make_record: MakeRecord) -> None:
    tally, twin = Tally(MANIFEST), Tally(MANIFEST)
    for index in range(20):
        tally.add(make_record(index, due=10 * index))
    done = decode(encode(Done(status=status(), part=tally.part(), fault=None)))
    assert isinstance(done, Done)
    twin.merge(done.part)
    assert twin.part() == tally.part()


def test_a_part_says_of_which_version_it_is() -> None:
    part = Tally(MANIFEST).part()
    assert Part.decode(part.encode()) == part
    old = msgspec.msgpack.encode({"version": VERSION + 1, "summary": "of another form"})
    with pytest.raises(PartError, match=f"version {VERSION + 1}.*same tokenpace"):
        Part.decode(old)
    with pytest.raises(PartError, match="no part of a run"):
        Part.decode(part.encode()[:-1])


async def test_messages_of_any_length_and_then_the_end() -> None:
    one, other = [await Channel.open(end) for end in socket.socketpair()]
    long = Beat(status=status(stopped="x" * 5_000_000))
    sending = asyncio.ensure_future(one.send(long))
    assert await other.receive() == long
    await sending
    await one.send(Ready())
    assert await other.receive() == Ready()
    await one.close()
    assert await other.receive() is None
    await other.send(Start(at_ns=1))  # nobody listens any more
    await other.close()


async def test_a_message_cut_short_is_the_end() -> None:
    near, far = socket.socketpair()
    channel = await Channel.open(near)
    far.sendall((1_000).to_bytes(8, "big") + b"only this")
    far.close()
    assert await channel.receive() is None
    await channel.close()


def test_counts_and_cpu_add_up_and_times_are_the_worst() -> None:
    one = health(
        loop_lag_p99=5,
        loop_lag_max=90,
        schedule_lag_p99=None,
        cpu_share=0.5,
        num_chunks=10,
        clock_resolution=1,
    )
    two = health(
        loop_lag_p99=7, loop_lag_max=20, schedule_lag_p99=3, cpu_share=0.75, num_chunks=5, stamp_error_p99=11
    )
    whole = merged([status(health=one, num_sent=4), status(health=two, num_sent=6)], is_open=True)
    found = whole.health
    assert (found.loop_lag_p99, found.loop_lag_max, found.schedule_lag_p99) == (7, 90, 3)
    assert (found.cpu_share, found.num_chunks, found.stamp_error_p99) == (1.25, 15, 11)
    assert [(each.num_requests, each.cpu_share) for each in found.workers] == [(4, 0.5), (6, 0.75)]


def test_every_field_of_the_health_is_put_together_by_intent() -> None:
    """A new one must be a count, or a number of which the largest is the worst."""
    least = {"clock_resolution", "planned_rate", "achieved_rate", "workers"}
    fields = set(BLANK.__struct_fields__) - least
    kinds = ("_p50", "_p99", "_max", "_total", "_share", "_chunks", "_arrivals", "_delays")
    assert [name for name in fields if not name.endswith(kinds)] == []


def test_rates_of_all_are_those_of_one_sender() -> None:
    """Ten requests in one second, in turn from two workers."""
    one = PaceState(num=5, due_ns=(0, 800 * MS), sent_ns=(0, 801 * MS))
    two = PaceState(num=5, due_ns=(100 * MS, 900 * MS), sent_ns=(100 * MS, 900 * MS))
    whole = merged([status(pace=one, elapsed_ns=7), status(pace=two, elapsed_ns=9)], is_open=True)
    assert (whole.health.planned_rate, whole.health.achieved_rate) == (10.0, 10.0)
    assert whole.elapsed_ns == 9
    closed = merged([status(pace=one), status(pace=two)], is_open=False)
    assert closed.health.planned_rate is None


def failed(num_failed: int, num_ok: int) -> LoadStatus:
    live = msgspec.structs.replace(LiveView().state(), num_failed=num_failed, num_ok=num_ok)
    return status(live=live)


def test_limits_are_those_of_all_workers_together() -> None:
    flying = CommonLimits(StopLimits(in_flight=10))
    assert flying.passed([status(in_flight=5), status(in_flight=4)]) is None
    assert flying.passed([status(in_flight=5), status(in_flight=5)]) == (
        "10 requests were in flight (stop.in_flight)"
    )
    failing = CommonLimits(StopLimits(error_share=0.5, min_ended=20))
    assert failing.passed([failed(9, 0), failed(9, 0)]) is None
    assert failing.passed([failed(9, 3), failed(9, 3)]) == (
        "18 of 24 requests had failed (stop.error_share 50 %)"
    )
