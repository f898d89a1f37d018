"""Bounds of a rate per second from counts in slices of time, one-sided at a stated confidence each.

What comes in a second is neither Poisson, nor normal: requests may be evenly spaced, tokens come in answers,
and of few events the count is lopsided. So the scatter of the count is measured by batch means, and the
bounds are those of a Poisson number of as many events as would scatter so much (Garwood 1936). Of 200 tokens
an answer the events are the answers; of requests the requests, or many more where they are evenly spaced.
As the scatter comes from few batches, the number of events is made smaller by the square of Student's
quantile over the normal one.

Sources: Law and Kelton, Simulation Modeling and Analysis, batch means; Garwood 1936, Fiducial limits for the
Poisson distribution.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import gammaincinv, ndtri, stdtrit

if TYPE_CHECKING:
    from harness.summary.due_order import FloatArray
    from harness.summary.token_arrivals import IntArray

MIN_BATCHES: Final = 5
_MAX_BATCHES: Final = 20
_INDEPENDENT: Final = 0.1


def rate_bounds(
    counts: IntArray, length_s: float, confidence: float, rate: float, event: float = 1.0
) -> tuple[float, float] | None:
    """Bounds of a rate, each with that confidence; None for fewer than five slices.

    Args:
        counts: One count a slice, in order.
        length_s: Length of a slice.
        confidence: 0.5 <= confidence < 1.
        rate: The rate over the whole window, about which the bounds lie.
        event: How much one request adds to the count. One more or one fewer could have been in the window,
            and of a window without any there may be so many as none shows.
    """
    if counts.size < MIN_BATCHES:
        return None
    per_second = event / (counts.size * length_s)
    events, num = _events(counts)
    if not events:
        return max(0.0, rate - per_second), rate - per_second * math.log(1 - confidence)
    normal, student = float(ndtri(confidence)), float(stdtrit(num - 1, confidence))
    events *= (normal / student) ** 2 if student > 0 else 1.0
    low, high = rate, rate
    if math.isfinite(events):
        low *= float(gammaincinv(events, 1 - confidence)) / events
        high *= float(gammaincinv(events + 1, confidence)) / events
    return max(0.0, min(low, rate - per_second)), max(high, rate + per_second)


def _events(counts: IntArray) -> tuple[float, int]:
    """How many events scatter as much as the counts, 0 if nothing was counted; and from how many batches.

    Neighbouring slices depend on each other, so long batches are made of them: the most, up to 20, whose
    neighbours hang together little (a lag-1 correlation below 0.1). Where even five do, their variance is
    raised accordingly.
    """
    for most in range(_MAX_BATCHES, MIN_BATCHES - 1, -1):
        per_batch = -(-counts.size // most)
        num = counts.size // per_batch
        if num < MIN_BATCHES:
            break
        sums = counts[: num * per_batch].reshape(num, per_batch).sum(axis=1).astype(np.float64)
        correlation = _lag_1(sums)
        if correlation < _INDEPENDENT:
            break
    widened = (1 + correlation) / (1 - correlation) if correlation >= _INDEPENDENT else 1.0
    mean, variance = float(sums.mean()), float(np.var(sums, ddof=1)) * widened
    if not mean:
        return 0.0, sums.size
    return (sums.size * mean**2 / variance if variance else math.inf), sums.size


def _lag_1(values: FloatArray) -> float:
    """Correlation of neighbours, 0 to 0.9."""
    centred = values - values.mean()
    squares = float(centred @ centred)
    return min(max(float(centred[1:] @ centred[:-1]) / squares, 0.0), 0.9) if squares > 0 else 0.0
