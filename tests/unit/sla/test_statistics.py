"""The mathematics, against published values and against scipy's own routines."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from harness.sla.statistics import (
    Decision,
    chance_of_at_least,
    chance_of_at_most,
    decide_share,
    samples_needed,
    share_bounds,
)

MISSES = (0, 1, 2, 5, 10, 50, 100)
MLPERF = {  # smallest n that passes with so many misses at 99 % confidence
    90.0: (44, 64, 81, 127, 197, 681, 1_246),
    95.0: (90, 130, 165, 259, 398, 1_372, 2_504),
    99.0: (459, 662, 838, 1_307, 2_010, 6_898, 12_571),
    99.9: (4_603, 6_636, 8_403, 13_105, 20_140, 69_058, 125_826),
}
AT_95 = {90.0: (29, 46, 103), 95.0: (59, 93, 208), 99.0: (299, 473, 1_049), 99.9: (2_995, 4_742, 10_511)}
TABLE = [
    *((p, 0.99, misses, n) for p, row in MLPERF.items() for misses, n in zip(MISSES, row, strict=True)),
    *((p, 0.95, misses, n) for p, row in AT_95.items() for misses, n in zip((0, 1, 5), row, strict=True)),
]


@pytest.mark.parametrize(("p", "confidence", "misses", "n"), TABLE)
def test_smallest_sample_that_passes(p: float, confidence: float, misses: int, n: int) -> None:
    assert decide_share(misses, n, 1 - p / 100, confidence) is Decision.TRUE
    assert decide_share(misses, n - 1, 1 - p / 100, confidence) is Decision.OPEN


@given(st.integers(1, 3_000), st.data(), st.sampled_from([0.001, 0.01, 0.05, 0.5]))
def test_chances_are_those_of_the_binomial(n: int, data: st.DataObject, share: float) -> None:
    count = data.draw(st.integers(0, n))
    assert chance_of_at_most(count, n, share) == pytest.approx(binom.cdf(count, n, share), abs=1e-9)
    assert chance_of_at_least(count, n, share) == pytest.approx(binom.sf(count - 1, n, share), abs=1e-9)


def test_many_misses_fail_and_some_decide_nothing() -> None:
    decisions = [decide_share(misses, 1_000, 0.01, 0.95) for misses in range(40)]
    assert decisions[4:17] == [Decision.TRUE] + [Decision.OPEN] * 11 + [Decision.FALSE]
    assert set(decisions[:4]) == {Decision.TRUE}
    assert set(decisions[17:]) == {Decision.FALSE}


@pytest.mark.parametrize("true_share", [0.009, 0.011])
def test_wrong_decisions_are_rare(true_share: float) -> None:
    """At most one in twenty, for independent requests near the limit."""
    counts = np.random.default_rng(1).binomial(2_000, true_share, size=2_000)
    wrong = Decision.FALSE if true_share < 0.01 else Decision.TRUE
    assert np.mean([decide_share(int(count), 2_000, 0.01, 0.95) is wrong for count in counts]) <= 0.05


@pytest.mark.parametrize(
    ("count", "n", "expected"),
    [(0, 20, 299), (0, 299, 299), (1, 100, None), (5, 100, 100), (1, 20, 44)],
)
def test_samples_needed(count: int, n: int, expected: int | None) -> None:
    assert samples_needed(count, n, 0.01, 0.95) == expected


@given(st.integers(1, 400), st.data(), st.sampled_from([0.01, 0.05, 0.1]))
def test_samples_needed_do_decide(n: int, data: st.DataObject, share: float) -> None:
    count = data.draw(st.integers(0, n))
    needed = samples_needed(count, n, share, 0.95)
    if needed is not None:
        assert needed >= n
        assert decide_share(count / n * needed, needed, share, 0.95) is not Decision.OPEN


@given(st.integers(1, 2_000), st.data())
def test_bounds_of_a_share_are_clopper_and_pearson(n: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, n))
    exact = binomtest(count, n).proportion_ci(0.9, method="exact")
    assert share_bounds(count, n, 0.95) == pytest.approx((exact.low, exact.high), abs=1e-9)


@given(st.integers(1, 500), st.data(), st.sampled_from([0.01, 0.05, 0.2]))
def test_bound_of_a_share_and_decision_agree(n: int, data: st.DataObject, share: float) -> None:
    count = data.draw(st.integers(0, n))
    low, high = share_bounds(count, n, 0.95)
    decision = decide_share(count, n, share, 0.95)
    assert (decision is Decision.TRUE) == (high <= share)
    assert (decision is Decision.FALSE) == (low >= share and count > 0)
