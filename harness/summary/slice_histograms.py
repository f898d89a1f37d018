"""Latencies over time: a histogram for each slice that has one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from reports.histogram import Histogram
from reports.result import Percentile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.metrics import Values
    from harness.summary.token_arrivals import IntArray

_PERCENTILES: Final = (50, 95, 99)
_US: Final = 1_000


class SliceHistograms:
    """One histogram a slice, made when there is something for it, filled in bulk."""

    def __init__(self, size: int) -> None:
        self._slots: list[Histogram | None] = [None] * size
        self._at_ns: list[np.ndarray[Any, Any]] = []
        self._values: list[np.ndarray[Any, Any]] = []

    def add(self, at_ns: Sequence[int] | IntArray, values_ns: Values, repeats: Sequence[int] = ()) -> None:
        """Take values in ns; they are counted by the next ``flush``.

        Args:
            at_ns: When each came.
            values_ns: As many, or as many as ``repeats`` say.
            repeats: How many values came at each of ``at_ns``, at least one; one where not given.
        """
        if len(values_ns) != len(at_ns):
            at_ns = np.repeat(np.asarray(at_ns), np.maximum(np.asarray(repeats), 1))
        self._at_ns.append(np.asarray(at_ns, np.int64))
        self._values.append(np.asarray(values_ns, np.float64))

    def flush(self, length_ns: int) -> None:
        """Count what was taken, in slices of that length."""
        if not self._at_ns:
            return
        slots = np.concatenate(self._at_ns) // length_ns
        values = np.rint(np.concatenate(self._values) / _US).astype(np.int64)
        self._at_ns, self._values = [], []
        for slot, each in _groups(slots, values):
            histogram = self._slots[slot] = self._slots[slot] or Histogram()
            histogram.record_many(each[(each >= 0) & (each <= histogram.layout.highest)])

    def pair(self) -> None:
        """Make one slice of every two."""
        pairs = zip(self._slots[::2], self._slots[1::2], strict=True)
        merged = [_merged(*pair) for pair in pairs]
        self._slots = merged + [None] * len(merged)

    def percentiles(self, slot: int) -> tuple[Percentile, ...]:
        """Of one slice, in ns; empty where it has no sample."""
        histogram = self._slots[slot]
        if histogram is None or not histogram.n:
            return ()
        return tuple(Percentile(p=p, value=histogram.percentile(p) * _US) for p in _PERCENTILES)


def _groups(slots: IntArray, values: IntArray) -> Iterator[tuple[int, IntArray]]:
    order = np.argsort(slots, kind="stable")
    names, starts = np.unique(slots[order], return_index=True)
    yield from zip(names.tolist(), np.split(values[order], starts[1:]), strict=True)


def _merged(one: Histogram | None, other: Histogram | None) -> Histogram | None:
    if one is None or other is None:
        return one or other
    one.merge(other)
    return one
