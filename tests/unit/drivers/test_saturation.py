"""Too much load is found, and too much only."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from harness.drivers.saturation import Saturation
from harness.steady_state import chance_of_growth
from harness.timeline import End, Timeline
from scenarios.schedule import StopLimits
from tests.unit.drivers.conftest import ANSWER, MS, PacedTransport

if TYPE_CHECKING:
    from harness.transport import HttpRequest
    from tests.conftest import MakeRecord
    from tests.unit.drivers.conftest import Send

S = 1_000_000_000
RATE, SLOTS = 5.0, 2
"""Of the simulated server: requests per second of each of its slots."""


def found_at_s(
    make_record: MakeRecord, load: float, seed: int, *, answering_s: float = 0.0, length_s: float = 240.0
) -> float | None:
    """When the test finds saturation in an M/M/2 queue whose answers go on after their first token."""
    rng = np.random.default_rng(seed)
    due_s = np.cumsum(rng.exponential(1 / (load * RATE * SLOTS), round(2 * load * RATE * SLOTS * length_s)))
    due_s = due_s[due_s < length_s]
    free_s = [0.0] * SLOTS
    events: list[tuple[float, int, float]] = []
    for begun_s in due_s.tolist():
        first_s = max(begun_s, heapq.heappop(free_s)) + rng.exponential(1 / RATE)
        heapq.heappush(free_s, first_s)
        done_s = first_s + (rng.exponential(answering_s) if answering_s else 0.0)
        events += [(begun_s, 0, 0.0), (done_s, 1, first_s - begun_s)]
    saturation = Saturation(30 * S)
    for at_s, is_end, wait_s in sorted(events):
        if is_end:
            due = 1e3 * (at_s - wait_s)
            saturation.ended(make_record(due=due, chunks=(1e3 * wait_s,), done_ns=round(at_s * S)))
            continue
        saturation.begun(round(at_s * S))
        if saturation.look(round(at_s * S)) is not None:
            return at_s
    return None


@pytest.mark.parametrize("load", [0.5, 0.9, 0.95])
def test_a_server_that_keeps_up_raises_no_alarm(make_record: MakeRecord, load: float) -> None:
    """At 95 % a queue of dozens comes and goes. One run in twenty may be called saturated: here one in 24."""
    runs = itertools.product((0.0, 20.0), range(12))
    alarms = [found_at_s(make_record, load, seed, answering_s=each) for each, seed in runs]
    assert sum(alarm is not None for alarm in alarms) <= 1, alarms


def test_long_answers_that_fill_the_server_raise_no_alarm(make_record: MakeRecord) -> None:
    """Answers of 60 s on average: the requests in flight grow for minutes, and nobody waits longer."""
    assert [found_at_s(make_record, 0.5, seed, answering_s=60.0) for seed in range(6)] == [None] * 6


@pytest.mark.parametrize(("load", "num_found"), [(1.5, 6), (2.0, 6), (4.0, 6), (1.2, 3)])
def test_too_much_load_is_found(make_record: MakeRecord, load: float, num_found: int) -> None:
    alarms = [found_at_s(make_record, load, seed) for seed in range(6)]
    assert sum(alarm is not None for alarm in alarms) >= num_found, alarms


def test_steps_that_cancel_are_no_growth() -> None:
    assert chance_of_growth(np.array([5.0, -5, 4, -4, 3, -3, 5, -5, 1, -1])) == pytest.approx(0.5)
    assert chance_of_growth(np.array([5.0, 4, 6, 5, 4, 6, 5, 5, 4, 6])) < 1e-6
    assert chance_of_growth(np.ones(10)) == 0
    assert chance_of_growth(-np.ones(10)) == chance_of_growth(np.zeros(10)) == 1


class OneAtATime(PacedTransport):
    """A server that serves one after the other."""

    def __init__(self, service_s: float) -> None:
        super().__init__(service_s)
        self._free_s = 0.0

    async def exchange(self, request: HttpRequest, timeline: Timeline) -> None:
        """See ``Transport``."""
        del request
        timeline.sent_ns = time.monotonic_ns()
        self._free_s = max(self._free_s, time.monotonic()) + self.service_s
        await asyncio.sleep(self._free_s - time.monotonic())
        timeline.status, timeline.headers = 200, {"content-type": "text/event-stream"}
        timeline.read_ns.append(time.monotonic_ns())
        timeline.reads.append(ANSWER)
        timeline.close(End.COMPLETE, time.monotonic_ns())


def test_it_ends_the_run_and_says_why(send: Send) -> None:
    """Twice as much as the server can do, for 10 s: it ends soon after 2 s."""
    stop = StopLimits(saturation_after_ns=2_000 * MS)
    records, facts = send(1_000, 10, transport=OneAtATime(0.02), loop="open", stop=stop)
    assert len(records) < 600
    assert "more was sent than the server can do (stop.saturation)" in (facts.stop_reason or "")


def test_it_is_not_looked_for_unasked(send: Send) -> None:
    _, facts = send(120, 10, transport=OneAtATime(0.02), loop="open", stop=StopLimits(in_flight=120))
    assert facts.stop_reason is None
