"""Bounds beyond the largest of few dependent samples."""

from __future__ import annotations

import numpy as np
import pytest

from harness.sla.tails import MIN_WORTH, reach


def test_too_few_reach_nowhere() -> None:
    assert reach(95, MIN_WORTH - 0.1, 0.95) is None
    assert reach(95, MIN_WORTH, 0.95) is not None


def test_more_samples_reach_less_far_and_rarer_values_lie_farther() -> None:
    reaches = [reach(99, worth, 0.95) or 0 for worth in (8, 15, 50, 200)]
    assert reaches == sorted(reaches, reverse=True)
    by_p = [reach(p, 20, 0.95) or 0 for p in (50, 90, 95, 99, 99.9)]
    assert by_p == sorted(by_p)
    assert by_p[0] == 1


def test_it_is_half_as_far_again_as_the_exponential_tail() -> None:
    """Of 20 independent samples the largest is above the share 0.05 ** (1 / 20) = 0.861, with 95 %."""
    assert reach(99, 20, 0.95) == pytest.approx(1.5 * np.log(0.01) / np.log(1 - 0.05**0.05))


@pytest.mark.parametrize("p", [95, 99, 99.9])
def test_it_holds_for_exponential_samples(p: float) -> None:
    rng = np.random.default_rng(1)
    largest = rng.exponential(1, (4_000, 12)).max(axis=1)
    assert np.mean(largest * (reach(p, 12, 0.95) or 0) < -np.log(1 - p / 100)) < 0.05
