"""Where the beginning of a run ends and its steady part begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

BATCH: Final = 5
MIN_SAMPLES: Final = 50
"""With fewer than ten batches there is nothing to choose among."""


def mser5(values: Sequence[float] | np.ndarray[Any, Any]) -> int | None:
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


def _from_here_on(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The sum of each value and all after it."""
    return np.cumsum(values[::-1])[::-1]
