"""The interval holds the truth as often as it says: on simulated queues in virtual time."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.capacity import Cell, holds, search
from benchmarks.simulated_queue import Queue

REPEATS = 10


@pytest.mark.parametrize(("num_servers", "rate"), [(1, 7.0), (4, 30.0), (16, 120.0)])
def test_the_queue_is_what_the_formula_says(num_servers: int, rate: float) -> None:
    queue, rng = Queue(num_servers), np.random.default_rng(0)
    times_s = queue.response_times(rng, np.cumsum(rng.exponential(1 / rate, 100_000)))[2_000:]
    for limit_s in (0.1, 0.3, 0.5):
        assert np.mean(times_s > limit_s) == pytest.approx(queue.share_beyond(rate, limit_s), abs=0.015)


def test_the_formula_of_one_place_is_exponential() -> None:
    queue = Queue(1, 0.1)
    assert queue.share_beyond(6.0, 0.5) == pytest.approx(math.exp(-(10 - 6) * 0.5))
    assert queue.knee(1.0, 95) == pytest.approx(10 + math.log(0.05))


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param(Cell("M/M/4", Queue(4), 0.373, 95, 4_000, 400), marks=pytest.mark.soak),
        Cell("M/M/1", Queue(1, 0.02), 0.2, 95, 4_000, 400),
    ],
)
def test_the_interval_holds_the_knee_in_nine_of_ten_searches(cell: Cell) -> None:
    """And is no excuse: it is bounded on both sides, and of use."""
    knee = cell.queue.knee(cell.limit_s, cell.p)
    found = [search(cell, seed) for seed in range(REPEATS)]
    assert sum(holds(each, knee) for each in found) >= 0.9 * REPEATS
    widths = [each.high / each.low for each in found if each.low and each.high]
    assert len(widths) >= 0.9 * REPEATS
    assert np.median(widths) < 1.5
