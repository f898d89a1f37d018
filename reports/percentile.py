"""A percentile and how well it is known."""

from __future__ import annotations

import msgspec


class Percentile(msgspec.Struct, frozen=True, kw_only=True):
    """A nearest-rank percentile with its distribution-free confidence interval.

    Attributes:
        p: In per cent, 0 < p <= 100.
        value: In the metric's unit.
        low: Lower end of the interval, None where n is too small to have one.
        high: Upper end, likewise.
    """

    p: float
    value: float
    low: float | None = None
    high: float | None = None
