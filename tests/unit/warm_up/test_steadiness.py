"""What comes after the warm-up is confirmed to be steady, or the run is INVALID."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from harness.steadiness import Traffic, why_not_steady
from harness.steady_state import mser5, trend
from harness.warm_up import WarmUp
from harness.window import Window

if TYPE_CHECKING:
    from tests.conftest import MakeRecord

MS = 1_000_000
FloatArray = np.ndarray[Any, np.dtype[np.float64]]


def queue(load: float, num: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Arrivals and times in the system of an M/M/1 queue of rate 1, empty at first."""
    rng = np.random.default_rng(seed)
    gaps, services = rng.exponential(1 / load, num), rng.exponential(1, num)
    wait, times = 0.0, np.empty(num)
    for i in range(num):
        wait = max(0.0, wait - gaps[i])
        times[i] = wait = wait + services[i]
    return np.cumsum(gaps), times


def fault(due: FloatArray, times: FloatArray) -> str | None:
    """What is said against the steadiness of the requests after MSER-5's cut."""
    cut = mser5(times)
    if cut is None:
        return "no cut"
    due_ns = np.rint(due * 1e9).astype(np.int64)
    done_ns = np.rint((due + times) * 1e9).astype(np.int64)
    return why_not_steady(times[cut:] * 1e9, Traffic(due_ns, done_ns, int(due_ns[cut])))


@pytest.mark.parametrize("load", [0.5, 0.8, 0.9])
def test_queues_in_a_steady_state_are_confirmed(load: float) -> None:
    """Their times hang together over hundreds of requests, which a test made for independent ones takes for
    a trend more often than not.
    """
    faults = [fault(*queue(load, 2_000, seed)) for seed in range(60)]
    assert sum(each is not None and each != "no cut" for each in faults) <= 3, faults


def test_a_queue_that_grows_is_no_steady_state() -> None:
    faults = [fault(*queue(1.3, 1_000, seed)) for seed in range(20)]
    assert sum(each is not None for each in faults) >= 18, faults


@pytest.mark.parametrize(("drift", "least", "most"), [(0.5, 38, 40), (0.05, 0, 6), (0.0, 0, 2)])
def test_a_drift_is_found_where_it_matters(drift: float, least: int, most: int) -> None:
    """500 independent times that rise by so much: by half nearly always, by 5 % hardly ever."""
    found = 0
    for seed in range(40):
        times = (1 + drift * np.arange(500) / 500) * np.random.default_rng(seed).lognormal(0, 0.3, 500)
        found += fault(np.arange(500.0), times) is not None
    assert least <= found <= most


def test_trend_of_few_values_is_unknown() -> None:
    assert trend([1.0] * 49) is None


def test_constant_values_have_no_trend() -> None:
    found = trend([5.0] * 100)
    assert found is not None
    assert (found.chance, found.change) == (1.0, 0.0)


def test_trend_of_a_line_is_its_rise() -> None:
    found = trend(np.linspace(90, 110, 300))
    assert found is not None
    assert found.chance < 1e-9
    assert found.change == pytest.approx(0.2, abs=0.01)


def test_requests_that_pile_up_are_a_fault_though_their_times_are_the_same() -> None:
    """Of 1,000 requests 100 that came late don't end: those that did took as long as ever."""
    due_ns = np.arange(1_000) * 10 * MS
    done_ns = due_ns + 50 * MS
    done_ns[100::9] = 10**12
    times = np.full(900, 50.0 * MS)
    said = why_not_steady(times, Traffic(due_ns, done_ns, 0)) or ""
    assert "1000 requests were due and" in said
    assert "run longer, lower the load" in said


def test_a_burst_at_the_end_is_no_pile() -> None:
    due_ns = np.concatenate([np.arange(1_000) * 10 * MS, np.full(80, 9_999 * MS)])
    assert why_not_steady(np.full(1_080, 50.0 * MS), Traffic(due_ns, due_ns + 50 * MS, 0)) is None


def test_it_is_a_cause_of_a_run_with_warm_up_auto(make_record: MakeRecord) -> None:
    rng = np.random.default_rng(0)
    warm_up, steady = WarmUp(Window(auto_warmup=True)), WarmUp(Window(auto_warmup=True))
    for i in range(600):
        noise = float(rng.normal(0, 10))
        rise = 100.0 if i > 300 else 0.0
        warm_up.add(make_record(i, due=10 * i, chunks=(100 + rise * (i % 50 > 20) + noise, 500)))
        steady.add(make_record(i, due=10 * i, chunks=(100 + noise, 500)))
    warm_up.window()
    assert (warm_up.cause or "").startswith(
        "no steady state after the warm-up: the times of the requests rose"
    )
    assert "Mann-Kendall" in (warm_up.cause or "")
    steady.window()
    assert steady.cause is None
    assert (steady.note or "").endswith("the rest is steady")
