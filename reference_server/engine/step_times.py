"""How long a step takes, by how many rows of tokens it computes: learnt while the engine works."""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections import deque
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_NUM_REMEMBERED = 5
_NUM_SURE = 3
_MAX_AGE = 512
_EXACT_BITS = 5


class StepTimes:
    """The last times of each number of rows.

    Between two numbers that were seen a time lies on the line through them. Of others the best is believed,
    so that they are tried, once: that more rows than were ever seen cost no more, and that the time of
    fewer than ever is as much shorter as they are fewer. What was long not seen is forgotten, and tried
    again: machines get busy and contexts grow.
    """

    def __init__(self) -> None:
        self._times: dict[int, deque[int]] = {}
        self._last_seen: dict[int, int] = {}
        self._num_steps = 0

    def observe(self, num_rows: int, duration_ns: int) -> None:
        """Take note of a step."""
        self._num_steps += 1
        key = _rounded(num_rows)
        self._times.setdefault(key, deque(maxlen=_NUM_REMEMBERED)).append(duration_ns)
        self._last_seen[key] = self._num_steps

    def predict(self, num_rows: Iterable[int]) -> list[float]:
        """Times of steps of so many rows, ns, none shorter than one of fewer rows; ones, if none was seen."""
        self._forget()
        if not self._times:
            return [1.0 for _ in num_rows]
        known = sorted(self._times)
        times = list(accumulate((_typical(self._times[key]) for key in known), max))
        xs, ys = [0, *known], [0.0, *times]
        return [_on_the_lines(number, xs, ys) for number in num_rows]

    def _forget(self) -> None:
        for key in [key for key, seen in self._last_seen.items() if self._num_steps - seen > _MAX_AGE]:
            del self._times[key], self._last_seen[key]


def _rounded(num_rows: int) -> int:
    """Large numbers to within 6 %, so that those that cost the same are one."""
    shift = max(0, num_rows.bit_length() - _EXACT_BITS)
    return num_rows >> shift << shift


def _typical(times: deque[int]) -> float:
    """The median; of few the shortest, since a first time holds what happens once."""
    return min(times) if len(times) < _NUM_SURE else statistics.median(times)


def _on_the_lines(x: int, xs: list[int], ys: list[float]) -> float:
    """The height at x of the lines through points in order; beyond the last, its height."""
    place = bisect_right(xs, x)
    if place == len(xs):
        return ys[-1]
    share = (x - xs[place - 1]) / (xs[place] - xs[place - 1])
    return ys[place - 1] + share * (ys[place] - ys[place - 1])
