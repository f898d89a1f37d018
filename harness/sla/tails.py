"""Bounds on a percentile from dependent samples that are too few for bounds by ranks.

That they are worth w independent ones says with confidence c that the largest of them lies above the
share p0 = (1 - c) ** (1 / w) of all values. How far above that p lies is a matter of the tail. Where this is
no heavier than an exponential one that begins at the smallest value, as that of waiting times in a queue is,
p lies at no more than ln(1 - p) / ln(1 - p0) times the range above it (Barlow and Proschan 1981, 4.6,
distributions whose failure rate increases on average). Half as much is added: where bursts come that a short
run had none of, its samples look more independent than they are. Downwards, that w values are all more than
k times percentile p has a chance of (1 - p) ** (k w).
"""

from __future__ import annotations

import math
from typing import Final

_MARGIN: Final = 1.5


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


def lower(p: float, least: float, most: float, worth: float, confidence: float) -> float:
    """What percentile ``p`` is at least; arguments as for ``upper``. At most ``least``."""
    del most
    return least / max(1.0, _MARGIN * math.log(1 - confidence) / math.log1p(-p / 100) / max(1.0, worth))
