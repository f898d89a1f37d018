"""Nearest ranks, and the ranks that enclose a percentile with a stated confidence."""

from __future__ import annotations

import math
from fractions import Fraction


def nearest_rank(p: float, n: int) -> int:
    """The rank ``ceil(p / 100 * n)``, 1 to n, exact for the p as written (99.9 of 1,000 is 999).

    Raises:
        ValueError: p is not in 0 < p <= 100 (a median is 50, not 0.5), or n < 1.
    """
    if not 0 < p <= 100:
        raise ValueError(f"percentile {p}: give per cent, 0 < p <= 100 (the median is 50)")
    if n < 1:
        raise ValueError(f"no rank among {n} samples")
    return math.ceil(Fraction(str(p)) * n / 100)


def interval_ranks(p: float, n: int, confidence: float = 0.95) -> tuple[int | None, int | None]:
    """Ranks of two order statistics that enclose percentile ``p`` whatever the distribution.

    David and Nagaraja, Order Statistics, 7.1. None where n is too small for a bound on that side.

    Raises:
        ValueError: p is not in 0 < p <= 100, n < 1, or confidence is not in 0 < confidence < 1.
    """
    nearest_rank(p, n)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence}: give a share, 0 < confidence < 1 (0.95)")
    from scipy.stats import binom  # takes a second, which a process that only counts need not wait

    tail = (1 - confidence) / 2
    low = int(binom.ppf(tail, n, p / 100))
    high = int(binom.ppf(1 - tail, n, p / 100)) + 1
    return (low if low >= 1 else None), (high if high <= n else None)
