"""The bounds that the harness states of its own error hold for 99 % of what they are stated of."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.client_health import healthy

from harness.client_error import client_error_ns
from harness.series import Series
from harness.stamp_error import StampError
from reports.histogram import Histogram

if TYPE_CHECKING:
    from reports.result import ClientHealth

MS = 1_000_000
SAMPLE, FRESH = 5_000, 200_000

Draw = Callable[[np.random.Generator, int], np.ndarray[Any, np.dtype[np.float64]]]


def exponential(rng: np.random.Generator, n: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    return rng.exponential(300, n)


def heavy(rng: np.random.Generator, n: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    return 50 * (1 + rng.pareto(1.5, n))


def rarely_blocked(rng: np.random.Generator, n: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Three in a hundred wait 20 ms."""
    return rng.exponential(100, n) + 20_000 * (rng.random(n) < 0.03)


DRAWS = pytest.mark.parametrize("draw", [exponential, heavy, rarely_blocked])


def counted(values: np.ndarray[Any, Any] | list[int]) -> Histogram:
    histogram = Histogram()
    histogram.record_many(np.ceil(values).astype(np.int64))
    return histogram


def health(**fields: Any) -> ClientHealth:
    given: dict[str, Any] = {
        "loop_lag_p99": MS,
        "loop_lag_max": 30 * MS,
        "schedule_lag_p99": 2 * MS,
        "schedule_lag_max": 3 * MS,
        "num_chunks": 100,
        "stamp_error_p99": 4 * MS,
        "interval_error_p99": 5 * MS,
        "response_error_p99": 8 * MS,
    }
    return healthy(**{**given, **fields})


def error(metric: str, basis: str | None, measured: ClientHealth, **options: Any) -> float | None:
    settings: dict[str, Any] = {"capped": False, "tokens_per_request": 11.0, **options}
    return client_error_ns(Series(metric, basis), measured, **settings)


@DRAWS
def test_99_of_100_fresh_stamps_keep_the_bound(draw: Draw) -> None:
    """Each of 20 samples states a bound; what comes afterwards keeps it."""
    rng = np.random.default_rng(1)
    fresh = draw(rng, FRESH) * 1_000
    bounds = [StampError(Histogram(), counted(draw(rng, SAMPLE)), None).of_stamps() for _ in range(20)]
    kept = [float(np.mean(fresh <= bound)) for bound in bounds]
    assert sum(each >= 0.99 for each in kept) >= 18
    assert min(kept) >= 0.985


@DRAWS
def test_99_of_100_fresh_gaps_keep_the_bound(draw: Draw) -> None:
    """A gap is wrong by the difference of two delays."""
    rng = np.random.default_rng(2)
    delays = draw(rng, FRESH) * 1_000
    bounds = [StampError(counted(draw(rng, SAMPLE)), Histogram(), None).of_intervals() for _ in range(20)]
    kept = [float(np.mean(np.abs(np.diff(delays)) <= bound)) for bound in bounds]
    assert sum(each >= 0.99 for each in kept) >= 18
    assert min(kept) >= 0.985


@DRAWS
def test_99_of_100_fresh_response_times_keep_the_bound(draw: Draw) -> None:
    rng = np.random.default_rng(3)
    late_us, delays_us = draw(rng, FRESH), draw(rng, FRESH)
    states = StampError(Histogram(), counted(draw(rng, SAMPLE)), counted(draw(rng, SAMPLE)))
    assert np.mean((late_us + delays_us) * 1_000 <= states.of_responses()) >= 0.99


def test_the_larger_of_probe_and_kernel_counts() -> None:
    small, large = counted([100] * 1_000), counted([700] * 1_000)
    assert StampError(small, large, None).of_stamps() == StampError(large, small, None).of_stamps()
    assert StampError(small, large, None).of_stamps() == pytest.approx(700_000, rel=0.001)


def test_too_few_samples_have_their_largest_as_bound() -> None:
    assert StampError(counted([*[10] * 50, 900]), Histogram(), None).of_stamps() == 900_000
    assert StampError(Histogram(), Histogram(), None).of_stamps() == 0


@pytest.mark.parametrize(
    ("metric", "basis", "bound_ms"),
    [
        ("ttft", "response", 8),
        ("ttft", "service", 4),
        ("ttft", None, 4),
        ("e2e", "response", 8),
        ("chunk_gap", None, 5),
        ("itl", None, 5),
        ("close_lag", None, 5),
        ("tpot", None, 0.5),
        ("ntpot", "service", 0.4),
        ("stall_max", None, 30),
        ("output_tokens", None, None),
        ("schedule_lag", None, None),
    ],
)
def test_each_metric_has_the_bound_of_what_it_is_made_of(
    metric: str, basis: str | None, bound_ms: float | None
) -> None:
    found = error(metric, basis, health())
    assert found == (None if bound_ms is None else bound_ms * MS)


def test_waiting_behind_a_cap_is_no_error() -> None:
    assert error("ttft", "response", health(), capped=True) == 4 * MS


def test_results_of_before_these_bounds_have_the_loop_lag() -> None:
    old = health(stamp_error_p99=None, interval_error_p99=None, response_error_p99=None)
    assert error("chunk_gap", None, old) == MS
    assert error("ttft", "service", old) == MS
    assert error("ttft", "response", old) == 3 * MS


def test_the_longest_gap_may_hold_the_worst_stamp() -> None:
    assert error("stall_max", None, health(receive_delay_max=45 * MS)) == 45 * MS
