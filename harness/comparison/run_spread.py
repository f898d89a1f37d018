"""How runs of one kind differ among themselves, which no single run can tell."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from harness.comparison.effect import Spread
from harness.comparison.side import merged, value_of

if TYPE_CHECKING:
    from harness.comparison.figure import Figure
    from harness.comparison.sample import Sample
    from harness.comparison.side import Side


def run_spread(figure: Figure, side: Side) -> tuple[Spread | None, str]:
    """Of the logarithm of a figure over several runs, by leaving out one at a time (the jackknife).

    Drawing five runs again and again makes intervals that are too narrow by a quarter; Student's t over the
    runs' pseudo-values doesn't.

    Source: Tukey 1958; Efron 1982.

    Args:
        figure: No share.
        side: Two runs at least, that have a value together.

    Returns:
        The spread, or None and why there is none: without one of the runs nothing above 0 is left.
    """
    samples, num = side.samples, len(side.runs)
    left_out = [_log(figure, samples[:place] + samples[place + 1 :]) for place in range(num)]
    known = [log for log in left_out if log is not None]
    whole = _log(figure, samples)
    if whole is None or len(known) < num:
        return None, f"{side.label}: too few of its {num} runs have values to tell how they differ"
    pseudo = num * whole - (num - 1) * np.array(known)
    return Spread(float(np.var(pseudo, ddof=1)) / num, num - 1), ""


def _log(figure: Figure, samples: tuple[Sample, ...]) -> float | None:
    value = value_of(figure, samples, merged(samples, figure.metric))
    return math.log(value) if value else None
