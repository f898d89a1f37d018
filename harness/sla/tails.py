"""Bounds from dependent samples that are too few for bounds by ranks, or by Student.

That they are worth w independent ones says with confidence c that the largest of them lies above the
share p0 = (1 - c) ** (1 / w) of all values. How far above that p lies is a matter of the tail. Where this is
no heavier than an exponential one that begins at the smallest value, as that of waiting times in a queue is,
p lies at no more than ln(1 - p) / ln(1 - p0) times the range above it (Barlow and Proschan 1981, 4.6,
distributions whose failure rate increases on average). Half as much is added: where bursts come that a short
run had none of, its samples look more independent than they are. Downwards, that w values are all more than
k times percentile p has a chance of (1 - p) ** (k w). The mean of w exponential values is to the true one as
a gamma variable of shape w to w.
"""

from __future__ import annotations

import math
from typing import Final

from scipy.special import gammaincinv

_MARGIN: Final = 1.5
_MARGIN_OF_MEANS: Final = 3.0
"""The bursts that a short run had none of are in the mean with all their length."""


def upper(p: float, least: float, most: float, worth: float, confidence: float) -> float:
    """What percentile ``p`` is at most, with that confidence.

    Args:
        p: 0 < p < 100.
        least: The smallest value, greater than 0.
        most: The largest.
        worth: Number of independent samples that say as much; fewer than one is one.
        confidence: 0 to 1.

    Returns:
        At least ``most``.
    """
    below = (1 - confidence) ** (1 / max(1.0, worth))
    times = max(1.0, _MARGIN * math.log1p(-p / 100) / math.log1p(-below))
    return least + (most - least) * times


def lower(p: float, least: float, worth: float, confidence: float) -> float:
    """What percentile ``p`` is at least; arguments as for ``upper``. At most ``least``."""
    return least / max(1.0, _MARGIN * math.log(1 - confidence) / math.log1p(-p / 100) / max(1.0, worth))


def mean_bounds(least: float, mean: float, worth: float, confidence: float) -> tuple[float, float]:
    """What a mean is at least and at most, each with that confidence.

    Args:
        least: The smallest value.
        mean: Of the samples.
        worth: Number of independent samples that say as much; fewer than one is one.
        confidence: 0 to 1.
    """
    shape = max(1.0, worth)
    low = mean * shape / float(gammaincinv(shape, confidence)) / _MARGIN_OF_MEANS
    return low, least + (mean - least) * shape / float(gammaincinv(shape, 1 - confidence)) * _MARGIN_OF_MEANS
