"""What a sample says about the truth behind it, at a stated confidence c.

All tests are one-sided at c, and so are the bounds: each end of an interval holds with c by itself. Hence a
PASS is exactly a bound on the good side of the limit, and a FAIL a bound on the bad side.

Counts may be fractions, so that an effective number of samples can stand in for the real one.

Sources: MLPerf inference rules, appendix Early Stopping (the binomial rule); Clopper and Pearson 1934
(shares); Student 1908 (means); David and Nagaraja, Order Statistics, 7.1 (percentiles, in
``reports.order_statistics``).
"""

from __future__ import annotations

import bisect
import enum
import math
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import betainc, betaincinv, stdtrit

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.summary.due_order import FloatArray
    from harness.summary.token_arrivals import IntArray

_MOST: Final = 100_000_000
_MAX_BATCHES: Final = 20
_INDEPENDENT: Final = 0.1
MIN_BATCHES: Final = 5


class Decision(enum.Enum):
    """Whether a statement is held to be true."""

    TRUE = enum.auto()
    FALSE = enum.auto()
    OPEN = enum.auto()


def chance_of_at_most(count: float, n: float, share: float) -> float:
    """P(Bin(n, share) <= count), for fractions too."""
    return 1.0 if count >= n else float(betainc(n - count, count + 1, 1 - share))


def chance_of_at_least(count: float, n: float, share: float) -> float:
    """P(Bin(n, share) >= count), for fractions too."""
    return 1.0 if count <= 0 else float(betainc(count, n - count + 1, share))


def decide_share(count: float, n: float, share: float, confidence: float) -> Decision:
    """Whether no more than ``share`` of all requests are such as ``count`` of ``n`` samples were.

    TRUE where so few would be improbable (at most 1 - confidence) if it were more than ``share``; FALSE where
    so many would be if it were not.
    """
    if not n:
        return Decision.OPEN
    if count / n <= share and chance_of_at_most(count, n, share) <= 1 - confidence:
        return Decision.TRUE
    if count / n > share and chance_of_at_least(count, n, share) <= 1 - confidence:
        return Decision.FALSE
    return Decision.OPEN


def samples_needed(count: float, n: float, share: float, confidence: float) -> int | None:
    """How many samples in all would decide if ``count / n`` of them went on to be such.

    None where no number up to a hundred millions would: the share seen is too near the limit.
    """
    rate = count / n if n else 0.0

    def decided(size: int) -> bool:
        return decide_share(rate * size, size, share, confidence) is not Decision.OPEN

    return _first(decided, max(1, math.floor(n)))


def deciding_counts(n: float, share: float, confidence: float, effect: float = 1.0) -> tuple[int, int]:
    """How few of ``n`` samples must be such as may be no more than ``share``, and how many are too many.

    Args:
        n: Number of samples, at least 1.
        share: 0 < share < 1.
        confidence: As for ``decide_share``.
        effect: So many samples say as much as one that is independent.

    Returns:
        The largest count that decides for TRUE, -1 for none; the smallest for FALSE, ``n`` + 1 for none.
    """

    def is_true(count: int) -> bool:
        return decide_share(count / effect, n / effect, share, confidence) is Decision.TRUE

    def is_false(count: int) -> bool:
        return decide_share(count / effect, n / effect, share, confidence) is Decision.FALSE

    middle, most = math.floor(n * share), math.floor(n)
    few = bisect.bisect_left(range(middle + 1), True, key=lambda count: not is_true(count)) - 1
    many = middle + bisect.bisect_left(range(middle, most + 1), True, key=is_false)
    return few, many


def _first(decided: Callable[[int], bool], start: int) -> int | None:
    """The smallest size from ``start`` on that decides, given that all larger ones do."""
    high = start
    while not decided(high):
        high *= 2
        if high > _MOST:
            return None
    low = high // 2 if high > start else start - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if decided(middle) else (middle, high)
    return high


def share_bounds(count: float, n: float, confidence: float) -> tuple[float, float]:
    """Clopper-Pearson bounds of a share, each with that confidence.

    Args:
        count: 0 to n.
        n: Greater than 0.
        confidence: 0 to 1.
    """
    low = 0.0 if count <= 0 else float(betaincinv(count, n - count + 1, 1 - confidence))
    high = 1.0 if count >= n else float(betaincinv(count + 1, n - count, confidence))
    return low, high


def mean_bounds(
    mean: float, deviation: float, n: float, confidence: float, skewness: float = 0.0
) -> tuple[float, float] | None:
    """Student's bounds of a mean, each with that confidence; None for fewer than two samples.

    Latencies are skewed: a sample that happens to lack its slowest has too small a mean and too small a
    deviation at once. So the bound on the long side is moved outwards by Johnson's term. (On the other side
    it would move inwards; there the bound stays as it is.)

    Source: Johnson 1978, Modified t tests and confidence intervals for asymmetrical populations.

    Args:
        mean: Of the samples.
        deviation: Their standard deviation, with n - 1 below the line.
        n: Number of independent samples.
        confidence: 0 to 1.
        skewness: Of the samples.
    """
    if n < 2:
        return None
    quantile = float(stdtrit(n - 1, confidence))
    reach = quantile * deviation / math.sqrt(n)
    shift = deviation * skewness * (1 + 2 * quantile**2) / (6 * n)
    return mean - reach + min(0.0, shift), mean + reach + max(0.0, shift)


def samples_needed_for_mean(
    mean: float, deviation: float, n: float, limit: float, confidence: float, skewness: float = 0.0
) -> int | None:
    """How many samples in all would tell the mean from ``limit`` if both went on as they are."""

    def decided(size: int) -> bool:
        bounds = mean_bounds(mean, deviation, size, confidence, skewness)
        return bounds is not None and not bounds[0] <= limit <= bounds[1]

    return _first(decided, max(2, math.floor(n)))


def rate_bounds(
    counts: IntArray, length_s: float, confidence: float, rate: float
) -> tuple[float, float] | None:
    """Bounds of a rate from counts in equal slices of time, by batch means; each with that confidence.

    Neighbouring slices depend on each other, so long batches are made of them: the most, up to 20, whose
    neighbours hang together little (a lag-1 correlation below 0.1). Where even five do, their variance is
    raised accordingly. None for fewer than five batches.

    Source: Law and Kelton, Simulation Modeling and Analysis, batch means.

    Args:
        counts: One count a slice, in order.
        length_s: Length of a slice.
        confidence: 0 to 1.
        rate: The rate over the whole window, about which the bounds lie.
    """
    if counts.size < MIN_BATCHES:
        return None
    for most in range(_MAX_BATCHES, MIN_BATCHES - 1, -1):
        per_batch = -(-counts.size // most)
        num = counts.size // per_batch
        if num < MIN_BATCHES:
            break
        rates = counts[: num * per_batch].reshape(num, per_batch).sum(axis=1) / (per_batch * length_s)
        deviation, correlation = float(np.std(rates, ddof=1)), _lag_1(rates)
        if correlation < _INDEPENDENT:
            break
    widened = math.sqrt((1 + correlation) / (1 - correlation)) if correlation >= _INDEPENDENT else 1.0
    return mean_bounds(rate, deviation * widened, rates.size, confidence)


def _lag_1(values: FloatArray) -> float:
    """Correlation of neighbours, 0 to 0.9."""
    centred = values - values.mean()
    squares = float(centred @ centred)
    return min(max(float(centred[1:] @ centred[:-1]) / squares, 0.0), 0.9) if squares > 0 else 0.0
