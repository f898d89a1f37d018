"""Where the capacity lies, as far as the verdicts of the probes tell.

A verdict of confidence c is a test: PASS where some statistic lies above z, the normal quantile of c, FAIL
where it lies below -z, else INCONCLUSIVE. At the capacity itself the statistic is 0 on average; away from it
it grows with the logarithm of the ratio and with the root of the number of independent samples. So the
chances of the three verdicts at a load are those of an ordered probit model whose thresholds are known:

    d = slope * sqrt(n) * log(capacity / load)
    P(PASS) = Phi(d - z)        P(FAIL) = Phi(-d - z)        P(INCONCLUSIVE) = the rest

Three numbers are unknown. The capacity is held to be anywhere on the logarithmic scale, the slope to have any
size from that of a queue whose requests hang together to that of a cliff; and verdicts may be shyer than
they say, with thresholds up to 2.25 times as large, since what they make up for dependent requests is on the
safe side. All are laid out on a grid, so nothing has to converge, and slope and shyness are summed out.
What remains is the belief about the capacity. Its median is the best place for the next probe
(probabilistic bisection: Horstein 1963; Waeber, Frazier and Henderson 2013), its central part is the
interval. An undecided probe says that the capacity isn't far, and nothing of which side it is on.

A verdict may be wrong for reasons that no statistics know of, such as a backup that ran on the server. Each
is taken to be such with a chance of 2 %, so that one freak is outvoted by what follows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.special import ndtr, ndtri

from reports.result import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reports.capacity.search import Probe

    FloatArray = np.ndarray[Any, np.dtype[np.float64]]

_FREAK: Final = 0.02
_LEAST_WORTH: Final = 30
_SLOPES: Final = np.geomspace(0.05, 50.0, 17)
_SHYNESS: Final = np.array([1.0, 1.5, 2.25])
_POINTS: Final = 801
_ROOM: Final = math.log(4.0)


class Belief:
    """What is known of the capacity.

    Args:
        probes: All probes so far, at least one of which tells something.
        confidence: That of their verdicts.
    """

    def __init__(self, probes: Sequence[Probe], confidence: float) -> None:
        told = [probe for probe in probes if tells(probe)]
        loads = np.log([probe.load for probe in told])
        self._at = np.linspace(loads.min() - _ROOM, loads.max() + _ROOM, _POINTS)
        thresholds = float(ndtri(confidence)) * _SHYNESS
        log_likelihood = np.zeros((_SHYNESS.size, _SLOPES.size, _POINTS))
        for probe, load in zip(told, loads, strict=True):
            steep = _SLOPES[:, None] * math.sqrt(max(1.0, probe.worth))
            chance = _chance(probe.verdict, steep * (self._at - load), thresholds[:, None, None])
            log_likelihood += np.log(chance)
        weights = np.exp(log_likelihood - log_likelihood.max()).sum(axis=(0, 1))
        self._below = np.cumsum(weights) / weights.sum()

    def quantile(self, q: float) -> float:
        """The load below which the capacity lies with chance ``q``, 0 < q < 1."""
        return float(np.exp(np.interp(q, self._below, self._at)))

    def chance_at_least(self, load: float) -> float:
        """That the capacity is ``load`` or more."""
        return float(1 - np.interp(math.log(load), self._at, self._below))

    def interval(self, confidence: float) -> tuple[float, float]:
        """The central interval that holds it with that chance."""
        return self.quantile((1 - confidence) / 2), self.quantile((1 + confidence) / 2)


def tells(probe: Probe) -> bool:
    """Whether a probe says anything of the capacity: an undecided one of hardly any worth doesn't."""
    if probe.verdict is Verdict.INCONCLUSIVE:
        return probe.worth >= _LEAST_WORTH
    return probe.verdict is not Verdict.INVALID


def _chance(verdict: Verdict, distance: FloatArray, threshold: FloatArray) -> FloatArray:
    passes, fails = ndtr(distance - threshold), ndtr(-distance - threshold)
    chances = {Verdict.PASS: passes, Verdict.FAIL: fails, Verdict.INCONCLUSIVE: 1 - passes - fails}
    return np.asarray((1 - _FREAK) * chances[verdict] + _FREAK / 3, np.float64)
