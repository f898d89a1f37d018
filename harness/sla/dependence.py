"""How many independent samples a sample is worth.

Requests that wait in one queue, or tokens that come in one answer, are alike: a thousand of them say less
than a thousand that know nothing of each other. How much less is the design effect, n / n_eff: the variance
of what was counted, over the variance that independent samples would have. It is found from what judges the
rule, the number beyond the limit by request in order of due time, and not from the times as such.

* Neighbours: 1 + 2 x the sum of the autocorrelations, summed in pairs while these are positive and no larger
  than the pair before (Geyer 1992, initial monotone positive sequence).
* Requests that go round between s servers, up to 32: neighbours say nothing there, and the sum is of every
  s-th lag, less what each of the s differs by, if that is more. Unlike neighbours are no reason to believe
  more: of a high percentile they make up for nothing.
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
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from harness.sla.correlation import unbiased, widening
from harness.sla.statistics import first

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.summary.due_order import FloatArray, Samples

MIN_WORTH: Final = 15
"""Dependent samples worth fewer independent ones prove no rule: how dependent is known too badly."""
MIN_WORTH_AGAINST: Final = 3
"""Worth fewer than that they refute none. Misses come in bursts, so a burst by chance looks dependent."""
_ONE_SIDED_5_PERCENT: Final = 1.645
_BEYOND_DOUBT: Final = 3.0
_STANDARD_ERRORS: Final = 2.0
_BURSTS_BEYOND_RANKS: Final = 1.5
_SKEW: Final = 8.0
_MIN_REQUESTS: Final = 4
_ENOUGH_TO_SHOW: Final = 60
"""The dependence of fewer, in a queue at half load, mostly doesn't show: what is seen of it counts."""
_ENOUGH_TO_SEE: Final = 30
"""Of fewer it is hardly seen: a standard error more is taken for there."""
_MAX_STRIDE: Final = 32
_AS_STRONG: Final = 2.0
"""A lag is as strong as the strongest if it is weaker by no more than so many standard errors."""
_MIN_PAIRS: Final = 4.0
"""Fewer of the same distance apart are chance, if only a few values stand out."""
_ROUNDING: Final = 1e-20


class Kinship(NamedTuple):
    """How samples of one request are alike.

    Attributes:
        effect: Their variance between requests over that of single samples; 1 where that shows nothing.
        num: Number of requests.
    """

    effect: float = 1.0
    num: float = 1.0

    def at(self, growth: float) -> float:
        """The effect that would be taken for in a run so many times as long."""
        if self.effect == 1:
            return 1.0
        return self.effect * (1 + _STANDARD_ERRORS * math.sqrt(2 / (self.num * growth)))


class Succession(NamedTuple):
    """How neighbours in a series are alike.

    Attributes:
        num: Length of the series.
        correlation: Of neighbours, where no more than that is known of them.
        effect: That of their order; 1 where it shows none.
        length: So many pairs of lags are in it.
        sure: The part of the effect that chance alone hardly shows: what a longer run is expected to show.
        sure_length: So many pairs are in that.
        is_certain: Whether chance is out of the question.
    """

    num: float
    correlation: float = 0.0
    effect: float = 1.0
    length: int = 0
    sure: float = 1.0
    sure_length: int = 0
    is_certain: bool = False

    @property
    def now(self) -> float:
        """The effect that is taken for: that of the series, raised by its own error."""
        return self._raised(self.num, self.effect, self.length)

    def at(self, growth: float) -> float:
        """The effect that would be taken for in a run so many times as long.

        Where it is certain that neighbours are alike it is the same one: of a queue a longer run shows longer
        bursts, about as much as its error is smaller.
        """
        return self.now if self.is_certain else self._raised(self.num * growth, self.sure, self.sure_length)

    def _raised(self, num: float, effect: float, length: int) -> float:
        if not length:
            return _unseen(self.correlation, num)
        return max(1.0, effect * (1 + _STANDARD_ERRORS * math.sqrt(2 * (4 * length + 1) / num)))


class Tie(NamedTuple):
    """One of the ways in which samples hang together."""

    kinship: Kinship
    succession: Succession
    factor: float = 1.0
    """Where their order shows anything, it counts so many times."""

    @property
    def now(self) -> float:
        """Its effect."""
        return self.kinship.at(1.0) * self._counted(self.succession.now)

    def at(self, growth: float) -> float:
        """Its effect in a run so many times as long."""
        return self.kinship.at(growth) * self._counted(self.succession.at(growth))

    def _counted(self, effect: float) -> float:
        return effect * self.factor if effect > 1 else effect


class Dependence(NamedTuple):
    """What the order and the kinship of samples take from what they say.

    Attributes:
        effect: n / n_eff, at least 1.
        ties: What it comes from; none where nothing is known of that.
        number: Of samples that showed it; 0 where nothing is known of that.
    """

    effect: float = 1.0
    ties: tuple[Tie, ...] = ()
    number: float = 0.0

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

    def of(self, n: float) -> Dependence:
        """What a run of ``n`` such samples is expected to show.

        Of more samples more is known: an effect that is raised by its own error is raised by less, and what a
        short run shows by chance a longer one doesn't.
        """
        if not self.ties:
            return self
        growth = n / self.number
        return self._replace(effect=max(1.0, *(tie.at(growth) for tie in self.ties)))

    def needed(self, num_independent: float) -> int:
        """How many of these are worth that many: more than there are."""

        def enough(n: int) -> bool:
            found = self.of(n)
            return found.can_hold(n) and found.worth(n) >= num_independent

        least = max(math.floor(self.number) + 1, math.ceil(num_independent))
        return first(enough, least) or math.ceil(max(num_independent, MIN_WORTH) * self.effect)


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
    residuals = np.asarray(samples.misses - share * samples.sizes)
    return _of(samples, residuals, number * share * (1 - share), number * variance)


def of_mean(samples: Samples, variance: float) -> Dependence:
    """That of samples whose mean is judged; arguments as for ``of_share``."""
    if samples.sizes.size < _MIN_REQUESTS:
        return INDEPENDENT
    independent = float(samples.sizes.sum()) * variance
    return _of(samples, _residuals(samples), independent, independent)


def _of(samples: Samples, residuals: FloatArray, independent: float, of_sums: float) -> Dependence:
    """That of samples whose residuals by request are judged.

    Args:
        samples: Shape (requests,).
        residuals: Same shape.
        independent: The variance of their sum if samples were independent.
        of_sums: Likewise that of the sum of all values.
    """
    moods = [_ranks(mood) for mood in samples.moods]
    strides = {1, *map(_stride, moods or [residuals])}
    kinship = Kinship() if np.all(samples.sizes == 1) else _between(_residuals(samples), of_sums)
    successions = [_serial(mood, strides) for mood in moods] or [Succession(math.inf)]
    ties = (
        Tie(_between(residuals, independent), _serial(residuals, strides)),
        *(Tie(kinship, succession, _BURSTS_BEYOND_RANKS) for succession in successions),
    )
    effect = max(tie.now for tie in ties)
    return Dependence(effect, ties, float(samples.sizes.sum())) if effect > 1 else INDEPENDENT


def _residuals(samples: Samples) -> FloatArray:
    """By request, its sum less what so many samples have on average."""
    return np.asarray(samples.sums - samples.sums.sum() / samples.sizes.sum() * samples.sizes)


def _between(residuals: FloatArray, independent: float) -> Kinship:
    """The part of it that is there without regard to order: alike samples in one request."""
    squares = float(residuals @ residuals)
    if independent <= 0 or squares <= 0:
        return Kinship()
    effect, error = squares / independent, math.sqrt(2 / residuals.size)
    return Kinship(effect, residuals.size) if effect > 1 + _ONE_SIDED_5_PERCENT * error else Kinship()


def _serial(series: FloatArray, strides: Iterable[int]) -> Succession:
    """The part that comes from the order: that of the stride which shows most."""
    return max((_every(stride, series) for stride in strides), key=lambda found: found.now)


def _every(stride: int, series: FloatArray) -> Succession:
    """The part that comes from how samples so far apart are alike, and those twice as far, and so on."""
    num = series.size
    correlations = _among_alike(series, stride)
    if correlations is None:
        return Succession(math.inf)
    pairs = correlations[: correlations.size // 2 * 2].reshape(-1, 2).sum(axis=1)
    shows = max(correlations[1] * math.sqrt(num), pairs[1] * math.sqrt(num / 2))
    if shows < _ONE_SIDED_5_PERCENT:
        return Succession(num, float(correlations[1]))
    length = _before(pairs <= 0)
    sums = np.minimum.accumulate(pairs[:length])
    sure = max(1, _before(sums < _ONE_SIDED_5_PERCENT * math.sqrt(2 / num)))
    lost = 0.0 if stride == 1 else _lost(float(correlations[1]), num / stride)
    return Succession(
        num,
        effect=-1 + 2 * float((sums + (2 - sums) * lost).sum()),
        length=length,
        sure=-1 + 2 * float(sums[:sure].sum()),
        sure_length=sure,
        is_certain=bool(shows > _BEYOND_DOUBT),
    )


def _among_alike(series: FloatArray, stride: int) -> FloatArray | None:
    """Autocorrelations at lag 0, s, 2 s, ..., or at every lag if the series is too short; None as for these.

    What each of s servers always differs by is known, and left out.
    """
    if series.size < _MIN_REQUESTS:
        return None
    if stride == 1 or series.size < _MIN_REQUESTS * stride:
        return autocorrelations(series)
    turns = np.arange(series.size) % stride
    means = np.bincount(turns, series) / np.bincount(turns)
    correlations = autocorrelations(series - means[turns])
    return None if correlations is None else correlations[::stride]


def _lost(correlation: float, rounds: float) -> float:
    """The share of their variance that series so long lose with their means, neighbours being so alike.

    The mean of a slow server's few requests isn't what it is like for good. Taken for first-order
    autoregressive series.
    """
    return min(1.0, widening(unbiased(correlation, rounds)) / rounds)


def _stride(series: FloatArray) -> int:
    """The first lag at which samples are as much alike as at any; 1 where chance could have made that.

    Where neighbours are unlike, any later lag counts.
    """
    correlations = autocorrelations(series) if series.size >= _MIN_REQUESTS else None
    if correlations is None:
        return 1
    num = correlations.size
    errors = correlations[1 : min(_MAX_STRIDE, num // 4) + 1] * math.sqrt(num)
    strongest = float(errors.max())
    beyond_doubt = max(_BEYOND_DOUBT, _MIN_PAIRS / _num_apart(series) * math.sqrt(num))
    if strongest < (0 if errors[0] < -_ONE_SIDED_5_PERCENT else beyond_doubt):
        return 1
    return _before(errors >= max(0.0, strongest - _AS_STRONG)) + 1


def _num_apart(series: FloatArray) -> float:
    """How many values stand out so far that all scatter is theirs: of a few misses these, of others many."""
    squares = np.square(series - series.mean())
    return float(squares.sum() ** 2 / (squares @ squares))


def _before(marks: np.ndarray[Any, np.dtype[np.bool_]]) -> int:
    """How many stand before the first that is marked."""
    return int(np.argmax(marks)) if marks.any() else marks.size


def _unseen(correlation: float, num: float) -> float:
    """The effect that may be there where none shows: that of a correlation which dies away with each lag."""
    if num >= _ENOUGH_TO_SHOW:
        return 1.0
    if num < _ENOUGH_TO_SEE:
        correlation = max(0.0, correlation) + 1 / math.sqrt(num)
    return widening(correlation) if correlation > 0 else 1.0


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
