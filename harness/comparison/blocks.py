"""Blocks of neighbours, so that resampling keeps what hangs together.

Requests near each other share a queue: drawn one by one, they would make every interval too narrow. Blocks of
neighbours, wrapped round the end, are drawn instead.

Sources: Kuensch 1989 (moving blocks), Politis and Romano 1992 (wrapped round the end), Politis and White 2004
with the correction of Patton, Politis and White 2009 (the length of a block).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from harness.comparison.sample import FloatArray, IntArray

MIN_BLOCKS: Final = 8
"""With fewer, nothing is known of how blocks differ."""
_QUIET_LAGS: Final = 5
_ROUNDING: Final = 1e-12


def block_length(influence: FloatArray) -> int:
    """How many neighbours to keep together, at least the cube root of their number.

    Twice what Politis and White found best for the mean square error of a variance: shorter blocks leave out
    a part of the variance, and a test by too small a variance finds what isn't there.

    Args:
        influence: What each neighbour adds to the statistic.
    """
    num = influence.size
    least = max(1, math.ceil(math.cbrt(num)))
    spread, total = _window(influence)
    if total <= 0:
        return least
    return max(least, math.ceil(2 * math.cbrt(1.5 * (spread / total) ** 2 * num)))


def dependence(influence: FloatArray) -> float:
    """How many neighbours tell as much as one independent one would, at least 1."""
    _, total = _window(influence)
    return max(1.0, total)


def autocorrelation(values: FloatArray, max_lag: int) -> FloatArray:
    """Correlation at lags 0 to ``max_lag``; 1, 0, 0, ... where nothing varies."""
    centred = values - values.mean()
    size = 1 << (2 * values.size - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(centred, size)) ** 2
    products = np.fft.irfft(spectrum, size)[: max_lag + 1]
    if products[0] <= _ROUNDING * max(1.0, float(values @ values)):
        return np.concatenate([np.ones(1), np.zeros(max_lag)])
    correlation: FloatArray = products / products[0]
    return correlation


def _window(influence: FloatArray) -> tuple[float, float]:
    """Correlations over all lags, weighted by their lag, and their sum with that of lag 0.

    Seen through a window that is flat as far as they are loud and falls to 0 over as far again.
    """
    num = influence.size
    correlation = autocorrelation(influence, max_lag=max(1, num // 3))
    cut = min(2 * _last_loud_lag(correlation, num), correlation.size - 1)
    lags = np.arange(1, cut + 1)
    window = np.minimum(1.0, 2 * (1 - lags / max(1, cut)))
    weighted = window * correlation[1 : cut + 1]
    return 2 * float(weighted @ lags), 1 + 2 * float(weighted.sum())


def _last_loud_lag(correlation: FloatArray, num: int) -> int:
    """The last lag before five in a row that chance alone explains."""
    loud = np.abs(correlation[1:]) > 2 * np.sqrt(np.log10(max(10, num)) / num)
    quiet_run = 0
    for lag, is_loud in enumerate(loud, start=1):
        quiet_run = 0 if is_loud else quiet_run + 1
        if quiet_run == _QUIET_LAGS:
            return max(1, lag - _QUIET_LAGS)
    return max(1, len(loud))


def resample(rng: np.random.Generator, num: int, length: int, times: int) -> IntArray:
    """How often each of ``num`` neighbours is drawn, ``times`` x ``num``; blocks wrap round the end.

    Each row draws ``ceil(num / length)`` blocks, so a little more than ``num`` neighbours.
    """
    blocks = -(-num // length)
    starts = rng.integers(0, num, (times, blocks))
    rows = np.arange(times)[:, None] * (num + 1)
    ends = starts + length
    steps = np.zeros(times * (num + 1), np.int64)
    np.add.at(steps, (rows + starts).ravel(), 1)
    np.add.at(steps, (rows + np.minimum(ends, num)).ravel(), -1)
    wrapped = ends > num
    np.add.at(steps, np.broadcast_to(rows, ends.shape)[wrapped], 1)
    np.add.at(steps, (rows + ends - num)[wrapped], -1)
    return np.asarray(np.cumsum(steps.reshape(times, num + 1), axis=1)[:, :num])
