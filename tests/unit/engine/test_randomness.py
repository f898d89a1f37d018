"""Draws without state."""

from __future__ import annotations

import pytest
from scipy import stats

from reference_server.engine.randomness import _mix, uniform


def test_the_same_seed_and_position_always_give_the_same_number() -> None:
    """Values are frozen: a seed that a user noted must stay good."""
    assert uniform(42, 7) == uniform(42, 7)
    assert [uniform(0, 0), uniform(42, 7)] == [0.6524484863740322, 0.7347204584623639]


def test_mixing_is_that_of_splitmix64() -> None:
    """The published generator's first output for seed 0."""
    assert _mix(0x9E3779B97F4A7C15) == 0xE220A8397B1DCDAF


@pytest.mark.parametrize("seed", [0, -1, 2**63 - 1, 2**64, -(2**63)])
def test_any_integer_is_a_seed(seed: int) -> None:
    assert 0.0 <= uniform(seed, 3) < 1.0


def test_numbers_are_uniform_along_positions_and_along_seeds() -> None:
    along_positions = [uniform(1, position) for position in range(5000)]
    along_seeds = [uniform(seed, 9) for seed in range(5000)]
    for numbers in (along_positions, along_seeds):
        assert stats.kstest(numbers, "uniform").pvalue > 0.01


def test_neighbouring_seeds_and_positions_are_unrelated() -> None:
    """A counter that merely added seed and position would repeat itself along the diagonal."""
    numbers = {uniform(seed, position) for seed in range(100) for position in range(100)}
    assert len(numbers) == 10_000
