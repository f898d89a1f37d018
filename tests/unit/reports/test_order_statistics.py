"""Ranks that enclose a percentile."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from reports.order_statistics import interval_ranks

CONFIDENCES = st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.999])


@given(
    p=st.one_of(st.sampled_from([1.0, 50.0, 95.0, 99.0, 99.5, 99.9, 99.99, 100.0]), st.floats(0.01, 100)),
    n=st.one_of(st.integers(1, 60), st.integers(1, 10**7)),
    confidence=CONFIDENCES,
)
def test_ranks_are_those_of_the_binomial_distribution(p: float, n: int, confidence: float) -> None:
    tail = (1 - confidence) / 2
    low, high = int(binom.ppf(tail, n, p / 100)), int(binom.ppf(1 - tail, n, p / 100)) + 1
    expected = (low if low >= 1 else None), (high if high <= n else None)
    assert interval_ranks(p, n, confidence) == expected
