"""Bounds of rates per second, on simulated arrivals whose rate is known."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import chi2, t

from harness.sla.batch_means import rate_bounds

if TYPE_CHECKING:
    from collections.abc import Callable

RUNS = 800
DEPENDENT_RUNS = 300


def _wrong(rng: np.random.Generator, slices: int, rate: float, size: int) -> tuple[float, float]:
    """In what share of runs the bound from below is above the truth, and that from above below it."""
    truth, above, below = rate * size, 0, 0
    for _ in range(RUNS):
        counts = size * rng.poisson(rate, slices)
        bounds = rate_bounds(counts, 1.0, 0.95, counts.sum() / slices, size)
        assert bounds is not None
        above, below = above + (bounds[0] > truth), below + (bounds[1] < truth)
    return above / RUNS, below / RUNS


@pytest.mark.parametrize(
    ("slices", "rate", "size"),
    [
        (9, 0.5, 200),
        (12, 0.5, 200),
        (30, 0.5, 200),
        (12, 0.1, 100),
        (30, 0.1, 100),
        (60, 0.1, 100),
        (30, 10, 1),
    ],
)
def test_few_events_rarely_deceive(slices: int, rate: float, size: int) -> None:
    """Answers of so many tokens, of which few come: their number is lopsided."""
    assert max(_wrong(np.random.default_rng(5), slices, rate, size)) <= 0.065


def _swaying(rng: np.random.Generator, slices: int) -> np.ndarray:
    """Of a server that sways by a fifth: neighbours' correlation is 0.9, a second's mean 500."""
    noise = rng.standard_normal((DEPENDENT_RUNS, slices + 100)) * math.sqrt(1 - 0.9**2)
    return np.maximum(0, np.rint(500 + 100 * lfilter([1], [1, -0.9], noise)[:, 100:]))


def _on_and_off(rng: np.random.Generator, slices: int) -> np.ndarray:
    """800 a second or 200, in spells of five on average."""
    turns = rng.random((DEPENDENT_RUNS, slices)) < 0.2
    turns[:, 0] = rng.random(DEPENDENT_RUNS) < 0.5
    return rng.poisson(np.where(np.cumsum(turns, axis=1) % 2 == 1, 800, 200))


@pytest.mark.parametrize("slices", [24, 64, 128])
@pytest.mark.parametrize("draw", [_swaying, _on_and_off])
def test_slices_that_hang_together_rarely_deceive(
    draw: Callable[[np.random.Generator, int], np.ndarray], slices: int
) -> None:
    """The search for batches that look independent was wrong in 12 to 20 % of 64 slices and fewer."""
    runs = draw(np.random.default_rng(11), slices).astype(np.int64)
    bounds = [rate_bounds(counts, 1.0, 0.95, float(counts.mean()), 100) for counts in runs]
    low, high = np.array(bounds).T
    assert max(np.mean(low > 500), np.mean(high < 500)) <= 0.08


def test_independent_slices_pay_a_fifth_for_that() -> None:
    """Over the width of 20 batches' Student bounds, known to be independent."""
    runs = np.random.default_rng(12).poisson(20, (200, 64))
    bounds = [rate_bounds(counts, 1.0, 0.95, float(counts.mean())) for counts in runs]
    low, high = np.array(bounds).T
    assert np.median(high - low) < 1.3 * 2 * t.ppf(0.95, 19) * math.sqrt(20 / 64)


def test_bounds_are_no_wider_than_they_must_be() -> None:
    """Of a Poisson number of 3,000 requests: 20 batches' Student quantile instead of the normal one."""
    counts = np.random.default_rng(6).poisson(10, 300)
    bounds = rate_bounds(counts, 1.0, 0.95, counts.mean())
    assert bounds is not None
    exact = chi2.ppf(0.95, 2 * counts.sum() + 2) / 600 - counts.mean()
    assert bounds[1] - counts.mean() == pytest.approx(exact, rel=0.5)


def test_evenly_spaced_requests_have_the_room_of_one_at_the_edge() -> None:
    assert rate_bounds(np.full(60, 20), 1.0, 0.95, 20.0) == pytest.approx((20 - 1 / 60, 20 + 1 / 60))
    assert rate_bounds(np.full(60, 20), 1.0, 0.95, 20.0, event=40) == pytest.approx((20 - 2 / 3, 20 + 2 / 3))


def test_nothing_counted_is_no_proof_of_nothing() -> None:
    """Three events at 95 %: so many would show with that confidence."""
    assert rate_bounds(np.zeros(10, np.int64), 2.0, 0.95, 0.0) == pytest.approx((0, -math.log(0.05) / 20))


def test_one_burst_is_one_event() -> None:
    """No more is known of its rate than of a single event's; less, as its size is seen once."""
    counts = np.array([0, 0, 0, 500, 0, 0, 0, 0, 0, 0])
    bounds = rate_bounds(counts, 1.0, 0.95, 50.0, event=100)
    assert bounds is not None
    assert bounds[0] < 3
    assert bounds[1] > 50 * chi2.ppf(0.95, 4) / 2


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.999])
def test_bounds_enclose_the_rate(confidence: float) -> None:
    counts = np.random.default_rng(7).poisson(3, 40)
    bounds = rate_bounds(counts, 0.5, confidence, counts.sum() / 20)
    assert bounds is not None
    assert 0 <= bounds[0] < counts.sum() / 20 < bounds[1]


def test_too_few_slices_have_no_bounds() -> None:
    assert rate_bounds(np.array([1, 2, 3, 4]), 1, 0.95, 2.5) is None
