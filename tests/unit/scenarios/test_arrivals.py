"""Whether the due times have the distribution they claim. Seeds are fixed: no test here is left to chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from scenarios.errors import ScenarioError
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from scenarios.schedule import Schedule


def _schedule(seed: int = 0, **load: Any) -> Schedule:
    prompts = {"source": "text", "text": "Hi"}
    return scenario_from({"name": "test", "seed": seed, "load": load, "prompts": prompts}).schedule()


def _due(schedule: Schedule) -> list[int]:
    return [arrival.due_ns for arrival in schedule.arrivals if arrival.due_ns is not None]


def _gaps_s(seed: int = 0, **load: Any) -> NDArray[np.float64]:
    return np.diff(np.array([0, *_due(_schedule(seed, **load))], dtype=np.float64)) / 1e9


def test_A6_03_constant_rate_is_kept_to_the_last_request() -> None:
    """The plan itself has no drift: each time comes from its own index."""
    due = _due(_schedule(arrivals="constant", rate=200, requests=2000))
    assert due[0] == 0
    assert due[-1] == 9_995_000_000
    assert set(np.diff(due)) == {5_000_000}


def test_constant_rounds_each_time_on_its_own() -> None:
    due = _due(_schedule(arrivals="constant", rate=3, requests=3001))
    assert due[1:4] == [333_333_333, 666_666_667, 1_000_000_000]
    assert due[3000] == 1_000_000_000_000


def test_a_rate_per_minute_is_the_same_rate() -> None:
    per_second, per_minute = (_due(_schedule(arrivals="constant", rate=r, requests=9)) for r in (5, "300/m"))
    assert per_second == per_minute


@pytest.mark.parametrize("seed", range(5))
def test_poisson_gaps_are_exponential(seed: int) -> None:
    gaps = _gaps_s(seed, arrivals="poisson", rate=50, requests=5000)
    assert stats.kstest(gaps, stats.expon(scale=0.02).cdf).pvalue > 0.01
    assert abs(np.corrcoef(gaps[:-1], gaps[1:])[0, 1]) < 0.05


def test_poisson_count_in_a_duration_varies_as_a_poisson_process_does() -> None:
    """Rescaled to its mean count it would be steadier than independent users are."""
    counts = [len(_due(_schedule(seed, arrivals="poisson", rate=10, duration="10s"))) for seed in range(200)]
    assert np.mean(counts) == pytest.approx(100, rel=0.03)
    assert np.var(counts) / np.mean(counts) == pytest.approx(1, abs=0.35)


@pytest.mark.parametrize("burstiness", [0.1, 0.25, 1, 4])
def test_A6_08_gamma_keeps_the_mean_rate_whatever_the_burstiness(burstiness: float) -> None:
    gaps = _gaps_s(arrivals="gamma", rate=50, burstiness=burstiness, requests=20_000)
    assert np.mean(gaps) == pytest.approx(0.02, rel=0.05)
    assert np.std(gaps) / np.mean(gaps) == pytest.approx(burstiness**-0.5, rel=0.05)


@pytest.mark.parametrize("burstiness", [0.25, 1, 4])
def test_gamma_gaps_are_gamma_distributed(burstiness: float) -> None:
    """Not for smaller shapes: whole nanoseconds then hold too many gaps of 0 for the test."""
    gaps = _gaps_s(arrivals="gamma", rate=50, burstiness=burstiness, requests=20_000)
    assert stats.kstest(gaps, stats.gamma(burstiness, scale=0.02 / burstiness).cdf).pvalue > 0.01


@pytest.mark.parametrize("burstiness", [0, -1, float("inf"), float("nan")])
def test_A6_08_burstiness_that_means_nothing_is_refused(burstiness: float) -> None:
    with pytest.raises(ScenarioError, match=r"load\.burstiness: must be (greater than|a finite number)"):
        _schedule(arrivals="gamma", rate=50, burstiness=burstiness, requests=1)


def test_A6_08_same_seed_same_schedule_and_another_seed_another() -> None:
    one, same, other = (
        _due(_schedule(seed, arrivals="gamma", rate=5, burstiness=0.5, requests=50)) for seed in (1, 1, 2)
    )
    assert one == same
    assert one != other


def test_max_in_flight_does_not_move_a_due_time() -> None:
    free = _schedule(arrivals="poisson", rate=10, requests=50)
    capped = _schedule(arrivals="poisson", rate=10, requests=50, max_in_flight=1)
    assert capped.max_in_flight == 1
    assert _due(free) == _due(capped)


def test_A6_05_closed_loop_can_open_its_slots_one_after_the_other() -> None:
    schedule = _schedule(arrivals="closed", concurrency=64, requests=256, ramp="2s")
    assert (schedule.loop, schedule.concurrency, schedule.ramp_ns) == ("closed", 64, 2_000_000_000)
    assert schedule.num_requests == 256


@pytest.mark.parametrize(
    ("load", "message"),
    [
        ({"arrivals": "poisson", "rate": 1}, "load: has no end; give duration: 30s, or requests: 100"),
        ({"arrivals": "poisson", "rate": 1, "duration": "0s"}, "load: duration must be longer than 0"),
        ({"arrivals": "poisson", "rate": 1, "requests": 9, "cooldown": "1s"}, "give a duration too"),
        (
            {"arrivals": "poisson", "rate": 9, "duration": "5s", "warmup": "3s", "cooldown": "2s"},
            r"warmup and cooldown \(5s\) leave nothing of duration",
        ),
        (
            {"arrivals": "constant", "rate": 0.1, "duration": "10s", "warmup": "1s"},
            "less than one request falls into the 9s that are measured",
        ),
        (
            {"arrivals": "poisson", "rate": 10, "requests": 100, "warmup": "10s"},
            "warmup lasts as long as all 100 requests; nothing is measured",
        ),
        ({"arrivals": "closed", "concurrency": 2, "duration": "1s", "ramp": "1s"}, "ramp must be shorter"),
        (
            {"arrivals": "closed", "concurrency": 0, "requests": 1},
            "load.concurrency: must be greater than or equal",
        ),
        (
            {"arrivals": "closed", "concurrency": 2, "requests": 9, "rate": 3},
            "load.rate: closed has no such key; it is one of constant, gamma, poisson",
        ),
        (
            {"arrivals": "poisson", "rate": 2, "requests": 0},
            "load.requests: must be greater than or equal to 1",
        ),
        (
            {"arrivals": "poisson", "rate": 2, "requests": True},
            "load.requests: must be a whole number, not True",
        ),
    ],
)
def test_load_that_can_not_be_run_is_refused(load: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        _schedule(**load)


def _stages(*stages: dict[str, Any], spacing: str = "even", **load: Any) -> Schedule:
    return _schedule(arrivals="stages", stages=list(stages), spacing=spacing, **load)


def test_stages_step_from_rate_to_rate() -> None:
    schedule = _stages({"rate": 2, "duration": "2s"}, {"rate": 4, "duration": "1s"})
    assert schedule.duration_ns == 3_000_000_000
    assert schedule.planned_rate == pytest.approx(8 / 3)
    due_ms = [due // 1_000_000 for due in _due(schedule)]
    assert due_ms == [0, 500, 1000, 1500, 2000, 2250, 2500, 2750]


def test_stage_ramps_in_a_straight_line() -> None:
    """From 0+ to 10/s in 10 s, t seconds have seen t**2 / 2 requests."""
    due = _due(_stages({"rate": 1e-9, "to": 10, "duration": "10s"}))
    assert np.array(due) / 1e9 == pytest.approx(np.sqrt(2 * np.arange(len(due))), abs=1e-6)
    assert len(due) == 50


def test_ramp_down_mirrors_ramp_up() -> None:
    up, down = (_due(_stages({"rate": a, "to": b, "duration": "10s"})) for a, b in ((1, 9), (9, 1)))
    assert len(up) == len(down) == 50
    mirrored = [10_000_000_000 - due for due in reversed(down)]
    assert np.array(up[1:]) == pytest.approx(np.array(mirrored[:-1]), abs=2)


def test_poisson_stages_have_independent_arrivals_at_the_stated_rates() -> None:
    stages = ({"rate": 50, "duration": "40s"}, {"rate": 50, "to": 150, "duration": "40s"})
    due = np.array(_due(_stages(*stages, spacing="poisson"))) / 1e9
    seconds, late = due[due < 40], due[due >= 40] - 40
    expected = np.concatenate([50 * seconds, 2000 + 50 * late + 1.25 * late**2])
    assert stats.kstest(np.diff(expected), stats.expon.cdf).pvalue > 0.01
    assert len(due) == pytest.approx(6000, rel=0.05)


def test_stages_end_with_the_last_or_earlier() -> None:
    assert _stages({"rate": 2, "duration": "4s"}, duration="1s").duration_ns == 1_000_000_000
    cut = _stages({"rate": 2, "duration": "4s"}, {"rate": 2, "to": 6, "duration": "4s"}, duration="6s")
    assert cut.planned_rate == pytest.approx((8 + 6) / 6)
    assert len(_due(cut)) == 14
    assert _stages({"rate": 2, "duration": "4s"}, duration="9s").duration_ns == 4_000_000_000
    assert len(_due(_stages({"rate": 2, "duration": "4s"}, requests=3))) == 3


def test_fault_in_a_stage_names_it() -> None:
    with pytest.raises(
        ScenarioError, match=r"load\.stages\[1\]\.duration: missing; for example duration: 30s"
    ):
        _stages({"rate": 2, "duration": "4s"}, {"rate": 3})
    with pytest.raises(ScenarioError, match=r"load\.stages: must not be empty"):
        _stages()
