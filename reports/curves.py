"""The percentile curve of a histogram, close enough to draw."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from reports.result import Curve

if TYPE_CHECKING:
    from reports.histogram import Histogram

NAMED = (10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999)
_STEPS_PER_DECADE = 32


def curve(histogram: Histogram, name: str, basis: str | None, unit: str, scale: float = 1.0) -> Curve:
    """The distribution of ``histogram`` at some 32 points for each nine, from p0+ to p100.

    Args:
        histogram: The samples.
        name: The metric's name.
        basis: ``response``, ``service`` or None.
        unit: The curve's unit.
        scale: Curve units in a unit of the histogram: 1,000 for ``ns`` from microseconds.
    """
    points = tuple((p, histogram.percentile(p) * scale) for p in _grid(histogram.n))
    return Curve(name=name, basis=basis, unit=unit, n=histogram.n, points=_corners(points))


def _grid(n: int) -> list[float]:
    """Values of p, dense towards 100 in equal steps of -log10(1 - p / 100), as far as n samples tell."""
    if not n:
        return []
    steps = math.ceil(math.log10(2 * n) * _STEPS_PER_DECADE)
    dense = {round(100 - 100 * 10 ** (-step / _STEPS_PER_DECADE), 6) for step in range(1, steps)}
    named = {p for p in NAMED if 1 - p / 100 >= 1 / n}
    return sorted(p for p in dense | named | {round(100 / n, 6), 100.0} if 0 < p <= 100)


def _corners(points: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
    """Leave out points inside a flat stretch, except the named percentiles."""
    keep = [
        point
        for i, point in enumerate(points)
        if i in (0, len(points) - 1)
        or point[0] in NAMED
        or not points[i - 1][1] == point[1] == points[i + 1][1]
    ]
    return tuple(keep)
