"""Bounds of means, on samples whose true mean is known."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from harness.sla.means import Moments, of_share, of_times, requests_to_see, skewed
from harness.sla.statistics import share_bounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.summary.due_order import FloatArray

    Draw = Callable[[np.random.Generator, int], FloatArray]

RUNS = 1_500


def moments(values: FloatArray) -> Moments:
    mean, deviation = values.mean(), values.std()
    skewness = np.mean((values - mean) ** 3) / deviation**3 if deviation > 1e-12 else 0.0
    return Moments(mean, deviation, skewness, values.min(), values.max())


def lognormal(sigma: float) -> Draw:
    """With mean 1."""
    return lambda rng, n: rng.lognormal(-(sigma**2) / 2, sigma, n)


def _wrong(draw: Draw, n: int, truth: float) -> tuple[float, float]:
    """In what share of runs the bound from above is below the truth, and that from below above it."""
    rng, below, above = np.random.default_rng(8), 0, 0
    for _ in range(RUNS):
        low, high = of_times(moments(draw(rng, n)), n, 0.95)
        below, above = below + (high < truth), above + (low > truth)
    return below / RUNS, above / RUNS


@pytest.mark.parametrize("n", [60, 100, 300])
@pytest.mark.parametrize(("sigma", "allowed"), [(0.5, 0.065), (1.0, 0.075), (1.5, 0.085), (2.0, 0.11)])
def test_long_tails_rarely_deceive(sigma: float, allowed: float, n: int) -> None:
    """Johnson's term alone is wrong in 9, 16 and 27 % of these at 60 samples."""
    below, above = _wrong(lognormal(sigma), n, 1.0)
    assert below <= allowed
    assert above <= 0.06


def test_short_tails_cost_nothing() -> None:
    """Student's interval of normal times, up to a tenth."""
    values = np.random.default_rng(3).normal(100, 20, 400)
    exact = ttest_1samp(values, 0).confidence_interval(0.9)
    low, high = of_times(moments(values), 400, 0.95)
    assert exact.high - values.mean() <= high - values.mean() <= 1.1 * (exact.high - values.mean())
    assert low == pytest.approx(exact.low, abs=0.1 * (exact.high - exact.low))


def test_without_skewness_they_are_students() -> None:
    values = np.array([1.0, 2, 3, 4, 5, 6])
    exact = ttest_1samp(values, 0).confidence_interval(0.9)
    assert skewed(moments(values), 6, 0.95) == pytest.approx((exact.low, exact.high))


@pytest.mark.parametrize("n", [1, 2, 5, 30, 100, 3_000])
def test_equal_values_leave_room_for_what_none_showed(n: int) -> None:
    low, high = of_times(Moments(100.0, 0.0, 0.0, 100.0, 100.0), n, 0.95)
    assert low == pytest.approx(100 * 0.05 ** (1 / n))
    assert high == (math.inf if n == 1 else pytest.approx(200 - low))


def test_one_in_ten_is_seen_with_confidence() -> None:
    assert [requests_to_see(confidence) for confidence in (0.9, 0.95, 0.99)] == [22, 29, 44]


@pytest.mark.parametrize(("ones", "n"), [(0, 5), (1, 2), (9, 10), (97, 100), (30, 30), (1, 1)])
def test_of_zeros_and_ones_bounds_are_clopper_and_pearsons(ones: int, n: int) -> None:
    values = np.repeat([1.0, 0.0], [ones, n - ones])
    assert of_share(moments(values), n, 0.95) == pytest.approx(share_bounds(ones, n, 0.95))


SHARES: dict[str, tuple[Draw, float]] = {
    "mostly one": (lambda rng, n: rng.beta(20, 0.5, n), 20 / 20.5),
    "a fifth none": (lambda rng, n: (rng.random(n) < 0.8).astype(float), 0.8),
    "even": (lambda rng, n: rng.random(n), 0.5),
    "a bad few": (
        lambda rng, n: np.where(rng.random(n) < 0.05, rng.random(n) / 2, 0.98 + rng.random(n) / 50),
        0.95 * 0.99 + 0.05 * 0.25,
    ),
}


@pytest.mark.parametrize("n", [1, 2, 5, 30, 100])
@pytest.mark.parametrize("name", SHARES)
def test_bounds_of_shares_hold_at_every_size(name: str, n: int) -> None:
    draw, truth = SHARES[name]
    rng = np.random.default_rng(9)
    bounds = [of_share(moments(draw(rng, n)), n, 0.95) for _ in range(800)]
    assert all(0 <= low <= high <= 1 for low, high in bounds)
    assert np.mean([low > truth for low, _ in bounds]) <= 0.06
    assert np.mean([high < truth for _, high in bounds]) <= 0.06


def test_a_share_seen_in_many_is_known_well() -> None:
    """Within what 1,000 uniform shares tell by Student's bounds, up to a tenth."""
    values = np.random.default_rng(10).random(1_000)
    low, high = of_share(moments(values), 1_000, 0.95)
    assert high - low <= 1.1 * 2 * 1.645 * values.std() / math.sqrt(1_000)
