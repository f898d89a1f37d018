"""How large the correlation of neighbours is, of which a short series shows so much."""

from __future__ import annotations

from typing import Final

MOST_CORRELATED: Final = 0.97
"""No series is taken for more: there would be nothing left to know of it."""


def unbiased(correlation: float, num: float) -> float:
    """A lag-1 correlation of ``num`` values, less its bias: a series is too like its own mean.

    Source: Marriott and Pope 1954, Bias in the estimation of autocorrelations.
    """
    return min(correlation + (1 + 4 * max(0.0, correlation)) / num, MOST_CORRELATED)


def widening(correlation: float) -> float:
    """How much more the mean of a first-order autoregressive series scatters than of independent values."""
    return (1 + correlation) / (1 - correlation)
