"""Chance without state: the number behind a token depends on its sequence's seed and its position alone.

So it is the same whatever runs beside, after a preemption and after a restart. The token is as repeatable as
the logits that the number is held against. What else a step computes decides in which order sums are made:
float32 logits agree to about 1e-5, which now and then moves a draw in the long tail of a large vocabulary to
the next token; in lower precision near ties differ too.
The mixing function is SplitMix64's (Steele, Lea, Flood 2014: Fast splittable pseudorandom number generators).
"""

from __future__ import annotations

import enum

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


class Stream(enum.IntEnum):
    """What a number decides: numbers of different streams have nothing to do with each other."""

    TOKEN = 0
    """The model's own choice."""

    DRAFT = 1
    """The guess of a model that drafts."""

    ACCEPTANCE = 2
    """Whether that guess stands."""

    RESIDUAL = 3
    """What takes its place if not."""


def _mix(x: int) -> int:
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def uniform(seed: int, position: int, stream: Stream = Stream.TOKEN) -> float:
    """A number in [0, 1) with 53 random bits, for any integers."""
    key = _mix((seed + _GOLDEN) & _MASK)
    if stream:
        key = _mix(key ^ _mix(stream))
    return (_mix((key + (position + 1) * _GOLDEN) & _MASK) >> 11) * 2.0**-53
