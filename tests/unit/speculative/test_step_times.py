"""What a step of so many rows takes, from those that were seen."""

from __future__ import annotations

import pytest

from reference_server.engine.step_times import StepTimes


def predict(times: StepTimes, *num_rows: int) -> list[float]:
    return times.predict(num_rows)


def test_nothing_seen_means_that_all_cost_the_same() -> None:
    assert predict(StepTimes(), 1, 5, 100) == [1.0, 1.0, 1.0]


def test_times_lie_on_lines_and_of_what_was_not_seen_the_best_is_believed() -> None:
    times = StepTimes()
    times.observe(2, 100)
    times.observe(6, 180)
    assert predict(times, 1, 2, 3, 6, 60) == [50, 100, 120, 180, 180]


def test_a_slow_first_time_and_a_rare_outlier_do_not_count() -> None:
    times = StepTimes()
    for duration in (900, 100, 120, 110, 5000):
        times.observe(4, duration)
    assert predict(times, 4) == [120]
    times = StepTimes()
    times.observe(4, 900)
    times.observe(4, 100)
    assert predict(times, 4) == [100]


def test_more_rows_never_take_less() -> None:
    times = StepTimes()
    times.observe(1, 100)
    times.observe(3, 90)
    assert predict(times, 1, 2, 3) == [100, 100, 100]


def test_what_was_long_not_seen_is_forgotten() -> None:
    times = StepTimes()
    times.observe(5, 400)
    for _ in range(511):
        times.observe(1, 100)
    assert predict(times, 5) == [400]
    for _ in range(2):
        times.observe(1, 100)
    assert predict(times, 5) == [100]


def test_large_steps_of_about_the_same_size_are_one() -> None:
    times = StepTimes()
    for num_rows in range(1000, 1024):
        times.observe(num_rows, num_rows)
    assert predict(times, 1010) == pytest.approx([1010], rel=0.03)
    assert len(times._times) < 4
