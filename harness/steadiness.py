"""Whether what was measured was steady: neither did its times drift nor did requests pile up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from harness.steady_state import MIN_BATCHES, chance_of_growth, trend
from harness.summary.in_flight import in_flight_at

if TYPE_CHECKING:
    from harness.steady_state import FloatArray
    from harness.summary.token_arrivals import IntArray

CHANCE: Final = 0.005
"""A trend that chance would show more often than this is none."""
MIN_CHANGE: Final = 0.1
MAX_IMBALANCE: Final = 0.05
_REMEDY: Final = "run longer, lower the load, or give the warm-up a length"


class Traffic(NamedTuple):
    """All requests of a run, whatever became of them.

    Attributes:
        due_ns: When each was due.
        done_ns: When it was over.
        start_ns: Beginning of what was measured; it ends with the last due time.
    """

    due_ns: IntArray
    done_ns: IntArray
    start_ns: int


def why_not_steady(times_ns: FloatArray, traffic: Traffic) -> str | None:
    """The fault and the remedy; None where nothing speaks against a steady state.

    Args:
        times_ns: Of the measured requests that succeeded, in due order.
        traffic: All requests.
    """
    return _drift(times_ns) or _imbalance(traffic)


def _drift(times_ns: FloatArray) -> str | None:
    """By a test of trend; a small one is no fault, however sure it is."""
    found = trend(times_ns)
    if found is None or found.chance > CHANCE or abs(found.change) < MIN_CHANGE:
        return None
    verb = "rose" if found.change > 0 else "fell"
    return (
        f"the times of the requests {verb} by {100 * abs(found.change):.0f} % of their median "
        f"(Mann-Kendall, p = {found.chance:.2g}); {_REMEDY}"
    )


def _imbalance(traffic: Traffic) -> str | None:
    """By what came and what went: more than 5 % apart, and by steps that chance alone doesn't make.

    The steps are those of the number in flight between ten equal times (``chance_of_growth``).
    """
    due_ns, done_ns, start_ns = traffic
    if not due_ns.size:
        return None
    edges_ns = np.linspace(start_ns, due_ns.max(), MIN_BATCHES + 1)
    in_flight = in_flight_at(due_ns, done_ns, np.rint(edges_ns).astype(np.int64)).astype(np.float64)
    growth, came = in_flight[-1] - in_flight[0], int(np.sum(due_ns >= start_ns))
    steps = np.diff(in_flight) * np.sign(growth)
    if abs(growth) <= MAX_IMBALANCE * came or chance_of_growth(steps) > CHANCE:
        return None
    return (
        f"{came} requests were due and {came - growth:.0f} ended, so that those in flight went from "
        f"{in_flight[0]:.0f} to {in_flight[-1]:.0f}; {_REMEDY}"
    )
