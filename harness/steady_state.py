"""Where the beginning of a run ends and its steady part begins.

scipy takes a while to be imported, which a process that only counts need not wait: so where it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

BATCH: Final = 5
MIN_BATCHES: Final = 10
MAX_BATCHES: Final = 30
MIN_SAMPLES: Final = 50
"""With fewer than ten batches there is nothing to choose among."""
_INDEPENDENT: Final = 0.1
_MOST_CORRELATED: Final = 0.9
_ROUNDING: Final = 1e-24


def mser5(values: Sequence[float] | FloatArray) -> int | None:
    """How many of the first values are warm-up, a multiple of 5; None where the values never become steady.

    The values are averaged in batches of five. The cut is where the mean of the rest would be known best:
    the smallest ratio of its squared deviations to the square of its number, over the first half of the
    batches. A minimum at the end of that half says that the values were on their way all the time.

    Source: White 1997; White, Cobb and Spratt 2000 (MSER-5).

    Args:
        values: In order of time. A rest of fewer than five at the end is left out.
    """
    num_batches = len(values) // BATCH
    if num_batches * BATCH < MIN_SAMPLES:
        return None
    batches = np.asarray(values, np.float64)[: num_batches * BATCH].reshape(-1, BATCH).mean(axis=1)
    batches -= batches.mean()  # so that squares of large numbers don't cancel
    left = np.arange(num_batches, 0, -1)
    sums, squares = _from_here_on(batches), _from_here_on(batches**2)
    half = -(-num_batches // 2)
    ratios = (squares - sums**2 / left)[:half] / left[:half] ** 2.0
    cut = int(np.argmin(ratios))
    return None if cut == half - 1 else cut * BATCH


def _from_here_on(values: FloatArray) -> FloatArray:
    """The sum of each value and all after it."""
    return np.cumsum(values[::-1])[::-1]


class Trend(NamedTuple):
    """How values moved over a time that should have been steady.

    Attributes:
        chance: How likely such a movement, or a clearer one, would be in values that have none.
        change: From the first to the last of them, as a share of their median.
    """

    chance: float
    change: float


def trend(values: Sequence[float] | FloatArray) -> Trend | None:
    """Whether values rise or fall: Mann and Kendall's test on batch means; None for too few to say.

    There are at most 30 batches and at least 10, the most whose neighbours hang together little (a lag-1
    correlation below 0.1). Where even ten long batches do, the variance of the test is made larger
    accordingly (Yue and Wang 2004), with the correlation taken about Sen's line so that a trend doesn't hide
    itself.

    Source: Mann 1945, Kendall 1975; batches as in Law and Kelton.

    Args:
        values: In order of time.
    """
    from scipy.special import ndtr

    array = np.asarray(values, np.float64)
    if array.size < MIN_BATCHES * BATCH:
        return None
    means, slope, correlation = _batched(array, min(MAX_BATCHES, array.size // BATCH))
    num = means.size
    rises = np.sign(means[None, :] - means[:, None])[np.triu_indices(num, 1)].sum()
    variance = num * (num - 1) * (2 * num + 5) / 18 * (1 + correlation) / (1 - correlation)
    score = (rises - np.sign(rises)) / np.sqrt(variance)
    middle = float(np.median(means))
    return Trend(2 * float(ndtr(-abs(score))), slope * (num - 1) / middle if middle else 0.0)


def chance_of_growth(steps: FloatArray) -> float:
    """How likely such steps would be, or clearer ones, if they were 0 on average: Student's t, one-sided."""
    from scipy.special import stdtr

    deviation = float(np.std(steps, ddof=1))
    if not deviation:
        return 0.0 if steps.mean() > 0 else 1.0
    return float(stdtr(steps.size - 1, -steps.mean() / (deviation / np.sqrt(steps.size))))


def _batched(values: FloatArray, most: int) -> tuple[FloatArray, float, float]:
    """Batch means, their slope a batch, and the correlation of neighbours that is left, at least 0."""
    for num in range(most, MIN_BATCHES - 1, -1):
        means = values[: values.size // num * num].reshape(num, -1).mean(axis=1)
        slope = _sens_slope(means)
        correlation = _lag_1(means - slope * np.arange(num))
        if correlation < _INDEPENDENT:
            return means, slope, 0.0
    return means, slope, min(correlation, _MOST_CORRELATED)


def _sens_slope(values: FloatArray) -> float:
    """The median of the slopes of all pairs of neighbours near and far: Theil 1950, Sen 1968."""
    early, late = np.triu_indices(values.size, 1)
    return float(np.median((values[late] - values[early]) / (late - early)))


def _lag_1(values: FloatArray) -> float:
    """Correlation of neighbours; 0 where nothing but the rounding of numbers differs."""
    centred = values - values.mean()
    variance = float(centred @ centred)
    if variance <= _ROUNDING * float(values @ values):
        return 0.0
    return float(centred[1:] @ centred[:-1]) / variance
