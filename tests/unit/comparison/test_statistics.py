"""Blocks, effects, Holm's correction: against values known otherwise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm, t

from harness.comparison.blocks import block_length, dependence, resample
from harness.comparison.effect import RatioEffect, ShareEffect, Spread
from harness.comparison.holm import holm


def ar1(rho: float, num: int, seed: int = 1) -> np.ndarray:
    noise = np.random.default_rng(seed).standard_normal(num)
    values = np.empty(num)
    values[0] = noise[0]
    for i in range(1, num):
        values[i] = rho * values[i - 1] + math.sqrt(1 - rho**2) * noise[i]
    return values


def test_every_row_draws_whole_blocks_of_neighbours() -> None:
    weights = resample(np.random.default_rng(0), 10, 4, 50)
    assert weights.shape == (50, 10)
    assert (weights.sum(axis=1) == 12).all()
    one = resample(np.random.default_rng(0), 10, 10, 5)
    assert (one == 1).all(), "a block of all neighbours, wherever it starts, is all of them"
    edges = np.abs(np.diff(np.concatenate([weights, weights[:, :1]], axis=1))).sum(axis=1)
    assert (edges <= 6).all(), "three blocks have three beginnings and three ends"


def test_every_neighbour_is_drawn_equally_often() -> None:
    weights = resample(np.random.default_rng(0), 40, 7, 20_000)
    assert weights.mean(axis=0) == pytest.approx(np.full(40, 42 / 40), rel=0.03)


def test_the_same_seed_draws_the_same() -> None:
    one, other = (resample(np.random.default_rng(5), 100, 9, 20) for _ in range(2))
    assert (one == other).all()


def test_blocks_grow_with_dependence() -> None:
    independent = np.random.default_rng(1).standard_normal(4_000)
    assert block_length(independent) <= 2 * math.ceil(4_000 ** (1 / 3))
    lengths = [block_length(ar1(rho, 4_000)) for rho in (0.5, 0.9)]
    assert 16 <= lengths[0] < lengths[1]


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8])
def test_dependence_is_that_of_an_autoregression(rho: float) -> None:
    found = np.mean([dependence(ar1(rho, 5_000, seed)) for seed in range(10)])
    assert found == pytest.approx((1 + rho) / (1 - rho), rel=0.25)


def test_what_does_not_vary_depends_on_nothing() -> None:
    assert dependence(np.zeros(100)) == 1
    assert block_length(np.zeros(1_000)) == 10


def test_a_ratio_has_student_s_bounds() -> None:
    effect = RatioEffect(math.log(1.1), Spread(0.02**2, 12))
    low, high = effect.bounds(0.95)
    reach = t.ppf(0.95, 12) * 0.02
    assert (low, high) == pytest.approx((1.1 * math.exp(-reach), 1.1 * math.exp(reach)))
    assert effect.chance_if_at_most(low) == pytest.approx(0.05)
    assert effect.chance_if_at_least(high) == pytest.approx(0.05)
    assert effect.chance_if_at_most(1.0) == pytest.approx(t.sf(math.log(1.1) / 0.02, 12))


def test_more_samples_by_that_factor_reach_the_limit() -> None:
    effect = RatioEffect(math.log(1.02), Spread(0.05**2, 1e9))
    times = effect.times_as_many(1.05, 0.95)
    assert times is not None
    _, high = RatioEffect(math.log(1.02), Spread(0.05**2 / times, 1e9)).bounds(0.95)
    assert high == pytest.approx(1.05)


def test_a_ratio_known_exactly_has_no_chance_left() -> None:
    effect = RatioEffect(0.0, Spread(0.0, 5))
    assert effect.bounds(0.95) == (1, 1)
    assert (effect.chance_if_at_most(1.0), effect.chance_if_at_most(0.9)) == (1, 0)


def test_variances_add_up_as_welch_says() -> None:
    spread = Spread(4.0, 10).plus(Spread(1.0, 3))
    assert spread.variance == 5
    assert spread.df == pytest.approx(25 / (16 / 10 + 1 / 3))


def test_the_difference_of_two_shares_is_newcombe_s() -> None:
    """Newcombe 1998, table II, row (a), method 10: 56/70 - 48/80."""
    low, high = ShareEffect((48, 80), (56, 70)).bounds(0.975)
    assert (low, high) == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_no_failure_at_all_still_has_an_interval() -> None:
    low, high = ShareEffect((0, 200), (0, 200)).bounds(0.95)
    reach = norm.ppf(0.95) ** 2 / (200 + norm.ppf(0.95) ** 2)
    assert (low, high) == pytest.approx((-reach, reach))


def test_the_chance_of_a_share_agrees_with_its_bound() -> None:
    effect = ShareEffect((10, 500), (25, 500))
    low, _ = effect.bounds(0.95)
    assert effect.chance_if_at_most(low) == pytest.approx(0.05, abs=1e-6)
    assert effect.chance_if_at_most(0.5) == 1
    assert effect.chance_if_at_least(effect.bounds(0.9)[1]) == pytest.approx(0.1, abs=1e-6)


def test_holm_s_correction() -> None:
    """Each counts as often as there are hypotheses left; none less than the one before."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([]) == ()
    assert holm([0.9, 0.8]) == (1, 1)
