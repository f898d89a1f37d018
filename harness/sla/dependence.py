"""How many independent samples a sample is worth.

Requests that wait in one queue, or tokens that come in one answer, are alike: a thousand of them say less
than a thousand that know nothing of each other. How much less is the design effect, n / n_eff: the variance
of what was counted, over the variance that independent samples would have. It is found from what judges the
rule, the number beyond the limit by request in order of due time, and not from the times as such.

* Neighbours: 1 + 2 x the sum of the autocorrelations, summed in pairs while these are positive and no larger
  than the pair before (Geyer 1992, initial monotone positive sequence).
* Tokens of one answer: the variance between answers, over that of single tokens (Kish 1965).
* Where few samples or none are beyond the limit they can't tell how they come together. So the ranks of the
  values are asked too. Misses in queues come in longer bursts than their ranks show, by half, so that much
  is added.
* An estimate that is too low by chance makes wrong verdicts, so it is raised by two of its standard errors
  (Priestley 1981). Where no dependence shows at a level of 5 %, samples are taken for independent, but fewer
  than 60 for as dependent as they look, and fewer than 30 for more so.

What no sample can tell is that there are bursts which the run had none of: a run must span many of its
server's slow cycles.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from harness.summary.due_order import FloatArray, Samples

MIN_WORTH: Final = 15
"""Dependent samples worth fewer independent ones prove no rule: how dependent is known too badly."""
MIN_WORTH_AGAINST: Final = 3
"""Worth fewer than that they refute none. Misses come in bursts, so a burst by chance looks dependent."""
_ONE_SIDED_5_PERCENT: Final = 1.645
_STANDARD_ERRORS: Final = 2.0
_BURSTS_BEYOND_RANKS: Final = 1.5
_SKEW: Final = 8.0
_MIN_REQUESTS: Final = 4
_ENOUGH_TO_SHOW: Final = 60
"""The dependence of fewer, in a queue at half load, mostly doesn't show: what is seen of it counts."""
_ENOUGH_TO_SEE: Final = 30
"""Of fewer it is hardly seen: a standard error more is taken for there."""
_ROUNDING: Final = 1e-20


class Dependence(NamedTuple):
    """What the order and the kinship of samples take from what they say.

    Attributes:
        effect: n / n_eff, at least 1.
    """

    effect: float = 1.0

    def worth(self, n: float) -> float:
        """The number of independent samples that say as much as ``n`` of these."""
        return n / self.effect

    def can_hold(self, n: float) -> bool:
        """Whether ``n`` of these can show that a rule holds."""
        return self.effect == 1 or self.worth(n) >= MIN_WORTH

    def can_violate(self, n: float) -> bool:
        """Whether ``n`` of these can show that a rule is violated."""
        return self.effect == 1 or self.worth(n) >= MIN_WORTH_AGAINST

    @property
    def skew(self) -> float:
        """How many times as skewed a sum of these is as one of independent samples that says as much.

        Up to eight times in simulated queues.
        """
        return 1.0 if self.effect == 1 else _SKEW

    def needed(self, num_independent: float) -> int:
        """How many of these are worth that many."""
        if self.effect == 1:
            return math.ceil(num_independent)
        return math.ceil(max(num_independent, MIN_WORTH) * self.effect)


INDEPENDENT: Final = Dependence()


def of_share(samples: Samples, variance: float) -> Dependence:
    """That of samples whose share beyond a limit is judged.

    Args:
        samples: With ``misses``.
        variance: Of the single values.
    """
    assert samples.misses is not None
    number, missed = float(samples.sizes.sum()), float(samples.misses.sum())
    if samples.sizes.size < _MIN_REQUESTS:
        return INDEPENDENT
    share = missed / number
    effects = [_effect(samples.misses - share * samples.sizes, number * share * (1 - share))]
    return Dependence(max(1.0, *effects, _of_moods(samples, variance)))


def of_mean(samples: Samples, variance: float) -> Dependence:
    """That of samples whose mean is judged; arguments as for ``of_share``."""
    if samples.sizes.size < _MIN_REQUESTS:
        return INDEPENDENT
    number = float(samples.sizes.sum())
    residuals = samples.sums - samples.sums.sum() / number * samples.sizes
    return Dependence(max(1.0, _effect(residuals, number * variance), _of_moods(samples, variance)))


def _of_moods(samples: Samples, variance: float) -> float:
    """The effect of the values' ranks, times that of the answers that tokens belong to."""
    serial = max((_serial(_ranks(mood)) for mood in samples.moods), default=1.0)
    if serial > 1:
        serial *= _BURSTS_BEYOND_RANKS
    if np.all(samples.sizes == 1):
        return serial
    number = float(samples.sizes.sum())
    residuals = samples.sums - samples.sums.sum() / number * samples.sizes
    return serial * _between(residuals, number * variance)


def _effect(residuals: FloatArray, independent: float) -> float:
    """The variance of a sum of residuals over the one that it would have of independent samples."""
    return _between(residuals, independent) * _serial(residuals)


def _between(residuals: FloatArray, independent: float) -> float:
    """The part of it that is there without regard to order: alike samples in one request."""
    squares = float(residuals @ residuals)
    if independent <= 0 or squares <= 0:
        return 1.0
    effect, error = squares / independent, math.sqrt(2 / residuals.size)
    if effect <= 1 + _ONE_SIDED_5_PERCENT * error:
        return 1.0
    return effect * (1 + _STANDARD_ERRORS * error)


def _serial(series: FloatArray) -> float:
    """The part that comes from the order, at least 1; 1 where it shows none."""
    num = series.size
    if num < _MIN_REQUESTS:
        return 1.0
    correlations = autocorrelations(series)
    if correlations is None:
        return 1.0
    pairs = correlations[: num // 2 * 2].reshape(-1, 2).sum(axis=1)
    shows = max(correlations[1] * math.sqrt(num), pairs[1] * math.sqrt(num / 2))
    if shows < _ONE_SIDED_5_PERCENT:
        return _unseen(float(correlations[1]), num)
    negative = np.flatnonzero(pairs <= 0)
    length = int(negative[0]) if negative.size else pairs.size
    effect = -1 + 2 * float(np.minimum.accumulate(pairs[:length]).sum())
    error = math.sqrt(2 * (4 * length + 1) / num)
    return max(1.0, effect * (1 + _STANDARD_ERRORS * error))


def _unseen(correlation: float, num: int) -> float:
    """The effect that may be there where none shows: that of a correlation which dies away with each lag."""
    if num >= _ENOUGH_TO_SHOW:
        return 1.0
    if num < _ENOUGH_TO_SEE:
        correlation = max(0.0, correlation) + 1 / math.sqrt(num)
    return (1 + correlation) / (1 - correlation) if correlation > 0 else 1.0


def autocorrelations(series: FloatArray) -> FloatArray | None:
    """At lag 0, 1, ..., shape as ``series``; None where nothing but the rounding of numbers differs."""
    centred = series - series.mean()
    squares = float(centred @ centred)
    if squares <= _ROUNDING * float(series @ series) or not squares:
        return None
    size = 1 << (2 * series.size - 1).bit_length()
    spectrum = np.fft.rfft(centred, size)
    sums = np.fft.irfft(spectrum.real**2 + spectrum.imag**2, size)[: series.size]
    return np.asarray(sums / sums[0])


def _ranks(values: FloatArray) -> FloatArray:
    """From 1, equal values having the mean of theirs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[places], np.float64)
