"""What can be said of misses that came in one spell, as those of a server that died did.

They are worth one independent sample, and one refutes nothing. But a server that holds an objective is
seldom in such a spell, and that much is true however its requests depend on each other. Let misses be a share
a of all its requests in the long run, and come in spells in which all miss, so far apart that a run of n
requests meets one at most. Spells of b requests then show k misses or more in a * (n + b - 2 k + 1) / b of
all runs. With b >= k, without which none does, that is no more than a * max(1, (n - k + 1) / k). And no more
than a of all runs end inside of a spell, however long it lasts.
"""

from __future__ import annotations

import bisect
from typing import Final

from harness.sla.statistics import Decision, decide_share

_ROUNDING: Final = 1e-9
_DIGITS: Final = 12


def refute(count: float, n: float, share: float, confidence: float) -> bool:
    """Whether a server with no more than ``share`` of misses seldom shows ``count`` of ``n``, in any order.

    Seldom also if they were independent.
    """
    if decide_share(count, n, share, confidence) is not Decision.FALSE:
        return False
    return _is_rare(share * max(1.0, (n - count + 1) / count), confidence)


def refuting_count(n: int, share: float, confidence: float) -> int:
    """The least count of ``n`` that ``refute`` is true of; ``n`` + 1 for none."""
    return bisect.bisect_left(range(n + 1), True, key=lambda count: refute(count, n, share, confidence))


def refute_by_the_end(share: float, confidence: float) -> bool:
    """Whether the runs of a server with no more than ``share`` of misses seldom end inside of a spell."""
    return _is_rare(share, confidence)


def least_share(count: float, n: float, confidence: float) -> float:
    """The least share of misses that ``refute`` leaves, but for what independent samples would leave."""
    least = (1 - confidence) * min(1.0, count / (n - count + 1))
    return round(float(least), _DIGITS)


def _is_rare(chance: float, confidence: float) -> bool:
    return chance <= (1 - confidence) * (1 + _ROUNDING)
