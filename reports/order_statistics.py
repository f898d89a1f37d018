"""Nearest ranks, and the ranks that enclose a percentile with a stated confidence."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Final

from scipy.special import bdtr

_FAR: Final = 10
"""So many deviations from its mean a binomial number isn't with any chance that is asked for here."""


def nearest_rank(p: float, n: int) -> int:
    """The rank ``ceil(p / 100 * n)``, 1 to n, exact for the p as written (99.9 of 1,000 is 999).

    Raises:
        ValueError: p is not in 0 < p <= 100 (a median is 50, not 0.5), or n < 1.
    """
    if not 0 < p <= 100:
        raise ValueError(f"percentile {p}: give per cent, 0 < p <= 100 (the median is 50)")
    if n < 1:
        raise ValueError(f"no rank among {n} samples")
    numerator, denominator = _share(p)
    return -(-numerator * n // denominator)


@functools.lru_cache(maxsize=1_024)
def _share(p: float) -> tuple[int, int]:
    """The p as written, as a share. A live page asks for thousands of ranks a second."""
    return (Fraction(str(p)) / 100).as_integer_ratio()


def interval_ranks(p: float, n: int, confidence: float = 0.95) -> tuple[int | None, int | None]:
    """Ranks of two order statistics that enclose percentile ``p`` whatever the distribution.

    David and Nagaraja, Order Statistics, 7.1. None where n is too small for a bound on that side.

    Raises:
        ValueError: p is not in 0 < p <= 100, n < 1, or confidence is not in 0 < confidence < 1.
    """
    nearest_rank(p, n)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence}: give a share, 0 < confidence < 1 (0.95)")
    tail = (1 - confidence) / 2
    low = _binomial_quantile(tail, n, p / 100)
    high = _binomial_quantile(1 - tail, n, p / 100) + 1
    return (low if low >= 1 else None), (high if high <= n else None)


def _binomial_quantile(chance: float, n: int, p: float) -> int:
    """The smallest k that at least ``chance`` of all draws of n with probability p don't exceed.

    The same as ``scipy.stats.binom.ppf``, whose module takes a second to be imported and each call several
    times as long: the harness asks while it stamps.
    """
    deviation = math.sqrt(n * p * (1 - p))
    below = max(-1, math.floor(n * p - _FAR * deviation) - 1)
    found = min(n, math.ceil(n * p + _FAR * deviation))
    while found - below > 1:
        middle = (below + found) // 2
        if bdtr(middle, n, p) >= chance:
            found = middle
        else:
            below = middle
    return found
