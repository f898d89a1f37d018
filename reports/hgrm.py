"""Percentile text (``.hgrm``) as HdrHistogram's plotter and hdr-plot read it, values in milliseconds."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reports.histogram import Histogram


def percentile_text(histogram: Histogram, units_per_ms: float = 1_000.0, ticks_per_half: int = 5) -> str:
    """The percentile distribution of ``histogram``, one line per step.

    Args:
        histogram: In microseconds unless ``units_per_ms`` says otherwise.
        units_per_ms: Histogram units in a millisecond.
        ticks_per_half: Lines each time the distance to 100 % halves.
    """
    head = f"{'Value':>12} {'Percentile':>14} {'TotalCount':>10} {'1/(1-Percentile)':>14}\n\n"
    rows = "".join(_row(*step, units_per_ms) for step in _steps(histogram, ticks_per_half))
    return head + rows + _foot(histogram, units_per_ms)


def _row(value: int, share: Fraction, count: int, units_per_ms: float) -> str:
    row = f"{value / units_per_ms:12.3f} {float(share):2.12f} {count:10d}"
    return f"{row} {float(1 / (1 - share)):14.2f}\n" if share < 1 else row + "\n"


def _foot(histogram: Histogram, units_per_ms: float) -> str:
    mean, deviation, maximum = (
        (histogram.mean, histogram.standard_deviation, histogram.maximum) if histogram.n else (0, 0, 0)
    )
    half = histogram.layout.half_magnitude
    return (
        f"#[Mean    = {mean / units_per_ms:12.3f}, StdDeviation   = {deviation / units_per_ms:12.3f}]\n"
        f"#[Max     = {maximum / units_per_ms:12.3f}, Total count    = {histogram.n:12d}]\n"
        f"#[Buckets = {(histogram.layout.length >> half) - 1:12d}, SubBuckets     = {2 << half:12d}]\n"
    )


def _steps(histogram: Histogram, ticks_per_half: int) -> Iterator[tuple[int, Fraction, int]]:
    """(value, share, samples at or below value); one step reaches the last bucket, one more is 100 %."""
    if not histogram.n:
        return
    values, counts = histogram.buckets()
    below = np.cumsum(counts)
    share, at = Fraction(0), -1
    while at < len(below) - 1:
        at = int(np.searchsorted(below, math.ceil(share * histogram.n)))
        yield int(values[at]), share, int(below[at])
        share = _next_share(share, ticks_per_half)
    yield histogram.maximum, Fraction(1), histogram.n


def _next_share(share: Fraction, ticks_per_half: int) -> Fraction:
    halvings = int(1 / (1 - share)).bit_length()
    return share + Fraction(1, ticks_per_half << halvings)
