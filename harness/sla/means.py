"""Bounds of a mean from the moments of a sample, one-sided at a stated confidence each.

A mean is as good as the tail that was seen. Three things say how far it may lie from the sample's:

* Its spread and lopsidedness. Latencies are skewed: a sample that happens to lack its slowest has too small
  a mean, too small a deviation and too small a skewness at once. So Student's bound is moved outwards on the
  long side: by Johnson's term, which alone knows of bursts, or to where Hall's transformation has it with
  half as much skewness again as the sample shows, whichever is farther. (On the short side it would move
  inwards; there it stays as it is.)
* Ends set by nature. No value is below 0, no share above 1. So the mean can't lie farther on that side than
  if one more sample stood at the very end, each sample having an uncertain weight (Gaffke's bound): for zeros
  and ones it is Clopper and Pearson's, for equal values x it is x times (1 - c) ** (1 / n), at every n.
* What no sample showed. With confidence c it is no more than the share 1 - (1 - c) ** (1 / n) of all; how
  far out, no sample can tell. Upwards the mean is left room for so many at twice the mean, and there is no
  bound at all from so few that a tenth of all could be missing.

Sources: Student 1908; Johnson 1978, Modified t tests and confidence intervals for asymmetrical populations;
Hall 1992, On the removal of skewness by transformation; Gaffke 2005, Three test statistics for a
nonparametric one-sided hypothesis on the mean of a nonnegative variable; Learned-Miller and Thomas 2020, A
new confidence interval for the mean of a bounded random variable.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple, TypeAlias

from scipy.special import betaincinv, cbrt, stdtrit

Bounds: TypeAlias = tuple[float, float]

_SKEWNESS_UNSEEN: Final = 1.5
"""It is the largest values that make it, and a sample lacks the largest. Chosen on log-normal times."""
_SHARE_TO_SEE: Final = 0.1


class Moments(NamedTuple):
    """What of a sample bears on its mean.

    Attributes:
        mean: Of the samples.
        deviation: Their standard deviation, with n below the line.
        skewness: Their third moment over the deviation cubed.
        least: The smallest.
        most: The largest.
        bursts: A sum of them is so many times as skewed as one of independent samples that says as much.
    """

    mean: float
    deviation: float
    skewness: float
    least: float
    most: float
    bursts: float = 1.0

    def mirrored(self, end: float) -> Moments:
        """Those of ``end`` less each sample."""
        return self._replace(
            mean=end - self.mean, skewness=-self.skewness, least=end - self.most, most=end - self.least
        )


def of_share(moments: Moments, n: float, confidence: float) -> Bounds:
    """Bounds of the mean of values from 0 to 1; arguments as for ``of_times``."""
    return _above_zero(moments, n, confidence), 1 - _above_zero(moments.mirrored(1.0), n, confidence)


def of_times(moments: Moments, n: float, confidence: float) -> Bounds:
    """Bounds of the mean of values from 0 on that have no largest.

    Args:
        moments: Of the samples.
        n: Number of independent samples, fractions too, at least 1.
        confidence: 0.5 <= confidence < 1.

    Returns:
        The lower one at least 0; the upper one infinite for fewer than two samples.
    """
    return with_the_unseen(moments, n, confidence, skewed(moments, n, confidence))


def with_the_unseen(moments: Moments, n: float, confidence: float, bounds: Bounds) -> Bounds:
    """Other bounds of such a mean, moved out to leave room for what none of ``n`` samples showed."""
    unseen = 1 - (1 - confidence) ** (1 / max(1.0, n))
    low = min(bounds[0], _above_zero(moments, n, confidence))
    return max(0.0, low), max(bounds[1], moments.mean * (1 + unseen))


def skewed(moments: Moments, n: float, confidence: float) -> Bounds:
    """Student's bounds, moved out on the long side; the mean and infinity for fewer than two samples."""
    if n < 2:
        return moments.mean, math.inf
    return -_at_most(moments.mirrored(0.0), n, confidence), _at_most(moments, n, confidence)


def requests_to_see(confidence: float) -> int:
    """How many requests an upper bound takes: of so many, one of the slowest tenth is seen."""
    return math.ceil(math.log(1 - confidence) / math.log1p(-_SHARE_TO_SEE))


def _at_most(moments: Moments, n: float, confidence: float) -> float:
    quantile = float(stdtrit(n - 1, confidence))
    deviation, skewness = moments.deviation * math.sqrt(n / (n - 1)), max(0.0, moments.skewness)
    student = quantile / math.sqrt(n)
    johnson = student + moments.bursts * skewness * (1 + 2 * quantile**2) / (6 * n)
    return moments.mean + deviation * max(johnson, _hall(student, n, _SKEWNESS_UNSEEN * skewness))


def _hall(reach: float, n: float, skewness: float) -> float:
    """How many deviations the bound lies from the mean that without skewness would lie ``reach`` from it."""
    if skewness < 1e-6:
        return reach
    return float(3 * (1 - cbrt(1 - skewness * (reach + skewness / (6 * n)))) / skewness)


def _above_zero(moments: Moments, n: float, confidence: float) -> float:
    """Gaffke's lower bound of a mean of values from 0 on, at most ``most``.

    The sum of samples weighted by chance, one more at 0 among them (Dirichlet's weights), taken for a beta
    variable of the same mean and variance, which it is for equal values and for two of which one is 0.
    """
    top, n = moments.most, max(1.0, n)
    if top <= 0 or moments.mean <= 0:
        return 0.0
    mean = moments.mean / top * n / (n + 1)
    square = (moments.deviation**2 + moments.mean**2) / top**2 * n / (n + 1)
    weight = mean * (1 - mean) * (n + 2) / (square - mean**2) - 1
    return top * float(betaincinv(mean * weight, (1 - mean) * weight, 1 - confidence))
