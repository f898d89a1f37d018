"""The harness finds its own faults."""

from __future__ import annotations

import asyncio
import gc
import time
from typing import TYPE_CHECKING

import pytest

from harness.client_health import HealthProbe
from harness.drivers import LoadFacts
from harness.event_loop import run
from harness.gc_pauses import GcPauses

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from reports.result import ClientHealth
    from tests.conftest import MakeRecord

MS = 1_000_000


async def probed(work: Callable[[], Awaitable[None]]) -> ClientHealth:
    probe = HealthProbe()
    with probe:
        await work()
    return probe.report(LoadFacts(), is_open=True)


async def quiet() -> None:
    await asyncio.sleep(0.5)


async def blocked() -> None:
    await asyncio.sleep(0.1)
    time.sleep(0.5)  # noqa: ASYNC251 (it is to block the loop)
    await asyncio.sleep(0.1)


def test_a_quiet_loop_lags_little() -> None:
    health = run(probed(quiet))
    assert 0 < health.loop_lag_p99 <= health.loop_lag_max
    assert health.loop_lag_p99 < 100 * MS
    assert health.cpu_share < 0.9


@pytest.mark.parametrize("runner", [run, asyncio.run])
def test_R6_a_stalled_loop_is_seen(runner: Callable[..., ClientHealth]) -> None:
    """Not as one late probe among many but as all that came due meanwhile."""
    health = runner(probed(blocked))
    assert health.loop_lag_max >= 480 * MS
    assert health.loop_lag_p99 >= 400 * MS


def test_what_the_loop_does_after_the_load_is_no_lag() -> None:
    async def main() -> ClientHealth:
        facts = LoadFacts()
        facts.begin(None)
        with HealthProbe(None, facts) as probe:
            await asyncio.sleep(0.3)
            facts.finish()
            await blocked()
        return probe.report(facts, is_open=True)

    health = run(main())
    assert health.loop_lag_p99 > 0
    assert health.loop_lag_max < 300 * MS


def test_schedule_lag_is_without_the_connecting(make_record: MakeRecord) -> None:
    probe = HealthProbe()
    for index in range(100):
        probe.observe(make_record(index, due=10, sent=12 if index else 80, connect_ns=MS))
    report = probe.report(LoadFacts(), is_open=True)
    assert report.schedule_lag_p99 == MS
    assert report.schedule_lag_max == 69 * MS
    assert probe.report(LoadFacts(), is_open=False).schedule_lag_p99 is None


def test_chunks_are_counted(make_record: MakeRecord) -> None:
    probe = HealthProbe()
    probe.observe(make_record(coalesced_chunks=2))
    probe.observe(make_record(sent=None, chunks=(), outcome="connect_error", sent_ns=None))
    report = probe.report(LoadFacts(), is_open=True)
    assert (report.num_chunks, report.coalesced_chunks) == (4, 2)


def test_a_busy_client_shows_it() -> None:
    async def busy() -> None:
        until_s = time.process_time() + 0.2
        while time.process_time() < until_s:  # noqa: ASYNC110 (it is to be busy)
            await asyncio.sleep(0)

    assert run(probed(busy)).cpu_share > 0.1


def test_collections_are_timed_and_settings_restored() -> None:
    thresholds, callbacks = gc.get_threshold(), list(gc.callbacks)
    with GcPauses() as pauses:
        assert gc.get_freeze_count() > 0
        garbage = [[] for _ in range(200_000)]
        garbage.append(garbage)
        gc.collect()
    assert 0 < pauses.max_ns <= pauses.total_ns
    assert (gc.get_threshold(), gc.callbacks, gc.get_freeze_count()) == (thresholds, callbacks, 0)


def test_young_objects_do_not_gather_where_as_many_old_ones_go() -> None:
    """Without sweeping none would be collected: there are never more than at the start."""
    old = [[] for _ in range(30_000)]
    with GcPauses() as pauses:
        for _ in range(30):
            pauses.sweep()
            young = [[] for _ in range(1_000)]
            del old[-1_000:]
            old[:0] = young
        assert len(gc.get_objects(0)) + len(gc.get_objects(1)) < 3_000
