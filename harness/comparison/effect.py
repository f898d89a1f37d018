"""A change from A to B, and how well it is known. Bounds and chances are one-sided, as in ``harness.sla``.

Sources: Welch 1947 (two variances), Student 1908; Newcombe 1998, method 10 (difference of two shares), which
holds where nothing failed too.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Final, NamedTuple

from scipy.special import ndtr, ndtri, stdtr, stdtrit

_MANY_DEVIATIONS: Final = 40.0
_STEPS: Final = 60


class Spread(NamedTuple):
    """How far a number may be from the truth behind it.

    Attributes:
        variance: Of the number (of its logarithm, for a ratio).
        df: Degrees of freedom with which that is known.
    """

    variance: float
    df: float

    def plus(self, other: Spread) -> Spread:
        """Of the difference of two independent numbers."""
        variance = self.variance + other.variance
        below = self.variance**2 / self.df + other.variance**2 / other.df
        return Spread(variance, variance**2 / below if below > 0 else min(self.df, other.df))


class Effect(ABC):
    """A change."""

    neutral: float
    """No change at all."""

    @property
    @abstractmethod
    def change(self) -> float:
        """B / A, or B - A of shares."""

    @abstractmethod
    def bounds(self, confidence: float) -> tuple[float, float]:
        """From below and from above, each with that confidence by itself."""

    @abstractmethod
    def chance_if_at_most(self, limit: float) -> float:
        """How likely such a change, or a larger one, is if the truth is no more than ``limit``."""

    @abstractmethod
    def chance_if_at_least(self, limit: float) -> float:
        """How likely such a change, or a smaller one, is if the truth is no less than ``limit``."""

    def times_as_many(self, limit: float, confidence: float) -> float | None:
        """By what factor more samples would tell the change from ``limit``, if it stays as it is.

        None where no number would.
        """
        low, high = self.bounds(confidence)
        distance = self._distance(self.change, limit)
        reach = self._distance(self.change, low if self.change > limit else high)
        return (reach / distance) ** 2 if distance > 0 and math.isfinite(reach) else None

    @abstractmethod
    def _distance(self, one: float, other: float) -> float:
        """Between two changes, on the scale on which their spread is even."""


class RatioEffect(Effect):
    """B / A by Student's t on the logarithm.

    Args:
        log_ratio: Natural logarithm of B / A.
        spread: Of that.
    """

    neutral = 1.0

    def __init__(self, log_ratio: float, spread: Spread) -> None:
        self._log, self._deviation, self._df = log_ratio, math.sqrt(spread.variance), spread.df

    @property
    def change(self) -> float:
        """B / A."""
        return math.exp(self._log)

    def bounds(self, confidence: float) -> tuple[float, float]:
        """From below and from above, each with that confidence by itself."""
        reach = float(stdtrit(self._df, confidence)) * self._deviation
        return math.exp(self._log - reach), math.exp(min(700.0, self._log + reach))

    def chance_if_at_most(self, limit: float) -> float:
        """How likely such a ratio, or a larger one, is if the truth is no more than ``limit``."""
        return self._chance(self._log - math.log(limit)) if limit > 0 else 0.0

    def chance_if_at_least(self, limit: float) -> float:
        """How likely such a ratio, or a smaller one, is if the truth is no less than ``limit``."""
        return self._chance(math.log(limit) - self._log) if limit > 0 else 1.0

    def _chance(self, distance: float) -> float:
        if not self._deviation:
            return 0.0 if distance > 0 else 1.0
        return float(stdtr(self._df, -distance / self._deviation))

    def _distance(self, one: float, other: float) -> float:
        return abs(math.log(one) - math.log(other)) if one > 0 and other > 0 else math.inf


class ShareEffect(Effect):
    """B - A of two shares, each of an effective number of independent requests.

    Args:
        a: Count and number of A.
        b: Count and number of B.
    """

    neutral = 0.0

    def __init__(self, a: tuple[float, float], b: tuple[float, float]) -> None:
        self._a, self._b = a, b

    @property
    def change(self) -> float:
        """B - A."""
        return self._b[0] / self._b[1] - self._a[0] / self._a[1]

    def bounds(self, confidence: float) -> tuple[float, float]:
        """From below and from above, each with that confidence by itself."""
        return self._within(float(ndtri(confidence)))

    def _within(self, deviations: float) -> tuple[float, float]:
        a, b = self._a[0] / self._a[1], self._b[0] / self._b[1]
        (low_a, high_a), (low_b, high_b) = _wilson(*self._a, deviations), _wilson(*self._b, deviations)
        below, above = math.hypot(b - low_b, high_a - a), math.hypot(high_b - b, a - low_a)
        return max(-1.0, b - a - below), min(1.0, b - a + above)

    def chance_if_at_most(self, limit: float) -> float:
        """How likely such a difference, or a larger one, is if the truth is no more than ``limit``."""
        return 1.0 if self.change <= limit else self._chance(limit, side=0)

    def chance_if_at_least(self, limit: float) -> float:
        """How likely such a difference, or a smaller one, is if the truth is no less than ``limit``."""
        return 1.0 if self.change >= limit else self._chance(limit, side=1)

    def _chance(self, limit: float, side: int) -> float:
        """The confidence at which the bound on that side just reaches the limit, from 1."""
        inside, outside = 0.0, _MANY_DEVIATIONS
        for _ in range(_STEPS):
            middle = (inside + outside) / 2
            bound = self._within(middle)[side]
            if (bound > limit) == (side == 0) and bound != limit:
                inside = middle
            else:
                outside = middle
        return float(ndtr(-inside))

    def _distance(self, one: float, other: float) -> float:
        return abs(one - other)


def _wilson(count: float, n: float, deviations: float) -> tuple[float, float]:
    """Wilson's bounds of a share."""
    share, square = count / n, deviations**2
    middle = share + square / (2 * n)
    reach = deviations * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    return max(0.0, (middle - reach) / (1 + square / n)), min(1.0, (middle + reach) / (1 + square / n))
