"""Bounds beyond the values of few dependent samples."""

from __future__ import annotations

import numpy as np
import pytest

from harness.sla.tails import lower, upper


def test_more_samples_reach_less_far_and_rarer_values_lie_farther() -> None:
    bounds = [upper(99, 0.1, 1, worth, 0.95) for worth in (0.5, 1, 8, 15, 50, 200)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] == bounds[1] > 100
    by_p = [upper(p, 0.1, 1, 20, 0.95) for p in (50, 90, 95, 99, 99.9)]
    assert by_p == sorted(by_p)
    assert by_p[0] == 1


def test_it_is_half_as_far_again_as_the_exponential_tail() -> None:
    """Of 20 independent samples the largest is above the share 0.05 ** (1 / 20) = 0.861, with 95 %."""
    times = 1.5 * np.log(0.01) / np.log(1 - 0.05**0.05)
    assert upper(99, 2, 3, 20, 0.95) == pytest.approx(2 + times)


@pytest.mark.parametrize("p", [95, 99, 99.9])
def test_it_holds_for_exponential_samples(p: float) -> None:
    samples = 5 + np.random.default_rng(1).exponential(1, (4_000, 12))
    bounds = [upper(p, row.min(), row.max(), 12, 0.95) for row in samples]
    assert np.mean(bounds < 5 - np.log(1 - p / 100)) < 0.05


@pytest.mark.parametrize("p", [50, 95, 99])
def test_downwards_it_holds_even_if_all_values_are_one(p: float) -> None:
    """A single sample, seen many times, is rarely so far above a percentile."""
    one = np.random.default_rng(2).exponential(1, 20_000)
    bounds = np.array([lower(p, value, 1, 0.95) for value in one])
    assert np.mean(bounds > -np.log(1 - p / 100)) < 0.05
    assert lower(p, 1, 40, 0.95) >= lower(p, 1, 1, 0.95)
