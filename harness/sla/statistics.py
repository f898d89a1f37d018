"""What a sample says about the truth behind it, at a stated confidence c.

All tests are one-sided at c, and so are the bounds: each end of an interval holds with c by itself. Hence a
PASS is exactly a bound on the good side of the limit, and a FAIL a bound on the bad side.

Counts may be fractions, so that an effective number of samples can stand in for the real one.

Sources: MLPerf inference rules, appendix Early Stopping (the binomial rule); Clopper and Pearson 1934
(shares); David and Nagaraja, Order Statistics, 7.1 (percentiles, in ``reports.order_statistics``). Means are
in ``means``, rates per second in ``batch_means``.
"""

from __future__ import annotations

import bisect
import enum
import math
from typing import TYPE_CHECKING, Final

from scipy.special import betainc, betaincinv

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST: Final = 100_000_000


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

    return first(decided, max(1, math.floor(n)))


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


def first(decided: Callable[[int], bool], start: int, most: int = _MOST) -> int | None:
    """The smallest size from ``start`` on that decides, if all larger ones do too; None beyond ``most``."""
    high = start
    while not decided(high):
        high *= 2
        if high > most:
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
