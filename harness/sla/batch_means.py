"""Bounds of a rate per second from counts in slices of time, one-sided at a stated confidence each.

What comes in a second is neither Poisson, nor normal: requests may be evenly spaced, tokens come in answers,
and of few events the count is lopsided. So the scatter of the count is measured by batch means, and the
bounds are those of a Poisson number of as many events as would scatter so much (Garwood 1936). Of 200 tokens
an answer the events are the answers; of requests the requests, or many more where they are evenly spaced.
As the scatter comes from few batches, the number of events is made smaller by the square of Student's
quantile over the normal one.

Batches of a slow server hang together, and a few dozen of them don't show how much: their correlation is
estimated too low by its bias and by chance. So all are taken for as dependent as one three quarters of a
standard error above the estimate would make them, as a first-order autoregressive series. That widens their
scatter, and it lowers the number of batches from which it is known: the degrees of freedom are those of as
many as they are worth.

Sources: Law and Kelton, Simulation Modeling and Analysis, batch means; Schmeiser 1982, Batch size effects in
the analysis of simulation output (few batches more than 30 gain little); Marriott and Pope 1954, Bias in the
estimation of autocorrelations; Garwood 1936, Fiducial limits for the Poisson distribution.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import gammaincinv, ndtri, stdtrit

from harness.sla.correlation import MOST_CORRELATED, unbiased, widening

if TYPE_CHECKING:
    from harness.summary.due_order import FloatArray
    from harness.summary.token_arrivals import IntArray

MIN_BATCHES: Final = 5
_MAX_BATCHES: Final = 30
_STANDARD_ERRORS: Final = 0.75


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
    events, freedom = _events(counts)
    if not events:
        return max(0.0, rate - per_second), rate - per_second * math.log(1 - confidence)
    normal, student = float(ndtri(confidence)), float(stdtrit(freedom, confidence))
    events *= (normal / student) ** 2 if student > 0 else 1.0
    low, high = rate, rate
    if math.isfinite(events):
        low *= float(gammaincinv(events, 1 - confidence)) / events
        high *= float(gammaincinv(events + 1, confidence)) / events
    return max(0.0, min(low, rate - per_second)), max(high, rate + per_second)


def _events(counts: IntArray) -> tuple[float, float]:
    """How many events scatter as much as the counts, 0 if nothing was counted; and its degrees of freedom.

    The wait for the first answer is no scatter: counts begin where anything came, if enough are left.
    """
    begun = np.trim_zeros(counts, "f")
    counts = begun if begun.size >= MIN_BATCHES else counts
    per_batch = -(-counts.size // _MAX_BATCHES)
    num = counts.size // per_batch
    sums = counts[: num * per_batch].reshape(num, per_batch).sum(axis=1).astype(np.float64)
    widened = widening(_at_most(_lag_1(sums), num))
    mean, variance = float(sums.mean()), float(np.var(sums, ddof=1)) * widened
    freedom = max(1.0, num / widened - 1)
    if not mean:
        return 0.0, freedom
    return (num * mean**2 / variance if variance else math.inf), freedom


def _at_most(correlation: float, num: int) -> float:
    """How large a lag-1 correlation may be of which ``num`` batches show so much, 0 to 0.97.

    Batches that repel each other, as those of evenly spaced requests do, count as independent.
    """
    likely = unbiased(correlation, num)
    raised = likely + _STANDARD_ERRORS * math.sqrt((1 - likely**2) / num)
    return min(max(0.0, raised), MOST_CORRELATED)


def _lag_1(values: FloatArray) -> float:
    """Correlation of neighbours; 0 where all are the same."""
    centred = values - values.mean()
    squares = float(centred @ centred)
    return float(centred[1:] @ centred[:-1]) / squares if squares > 0 else 0.0
