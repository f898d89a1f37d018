"""Latencies over time: a histogram for each slice that has one."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final

import numpy as np

from reports.histogram import Histogram
from reports.result import Percentile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.metrics import Values
    from harness.summary.token_arrivals import IntArray

_PERCENTILES: Final = (50, 95, 99)
_US: Final = 1_000
_MANY: Final = 16_384


class SliceHistograms:
    """One histogram a slice, made when there is something for it, filled in bulk.

    Slices that have become one keep their histograms apart until ``tidy`` has got to them: to merge all at
    once would hold up the event loop.
    """

    def __init__(self, size: int) -> None:
        self._slots: list[list[Histogram]] = [[] for _ in range(size)]
        self._crowded: list[list[Histogram]] = []
        self._at_ns, self._values = array("q"), array("d")
        self._groups: list[tuple[int, IntArray]] = []

    def add(self, at_ns: Sequence[int] | IntArray, values_ns: Values, repeats: Sequence[int] = ()) -> None:
        """Take values in ns; they are counted by the next ``flush``.

        Args:
            at_ns: When each came.
            values_ns: As many, or as many as ``repeats`` say.
            repeats: How many values came at each of ``at_ns``, at least one; one where not given.
        """
        if len(values_ns) != len(at_ns):
            at_ns = np.repeat(np.asarray(at_ns), np.maximum(np.asarray(repeats), 1))
        self._at_ns.frombytes(np.asarray(at_ns, np.int64).tobytes())
        self._values.frombytes(np.asarray(values_ns, np.float64).tobytes())

    def tend(self, length_ns: int) -> None:
        """Do a little of what there is to do, now and then much: at once all would hold up the event loop."""
        if self._groups:
            self._record(*self._groups.pop())
        elif len(self._values) >= _MANY:
            self._sort(length_ns)
        else:
            self._tidy_one()

    def flush(self, length_ns: int) -> None:
        """Count what was taken, in slices of that length."""
        self._sort(length_ns)
        while self._groups:
            self._record(*self._groups.pop())

    def _sort(self, length_ns: int) -> None:
        """Put what was taken into groups, one a slice."""
        slots = np.floor_divide(self._at_ns, length_ns).astype(np.uint16)
        values = np.rint(np.divide(self._values, _US)).astype(np.int64)
        self._at_ns, self._values = array("q"), array("d")
        order = np.argsort(slots, kind="stable")
        names, starts = np.unique(slots[order], return_index=True)
        self._groups += zip(names.tolist(), np.split(values[order], starts[1:]), strict=False)

    def _record(self, slot: int, values: IntArray) -> None:
        slices = self._slots[slot]
        if not slices:
            slices.append(Histogram())
        histogram = slices[0]
        histogram.record_many(values[(values >= 0) & (values <= histogram.layout.highest)])

    def pair(self) -> None:
        """Make one slice of every two."""
        pairs = zip(self._slots[::2], self._slots[1::2], strict=True)
        joined = [one + other for one, other in pairs]
        self._slots = joined + [[] for _ in joined]
        self._crowded = [each for each in joined if len(each) > 1]

    def state(self) -> list[bytes | None]:
        """The histogram of each slice, packed; None where it has no sample. Call ``flush`` before."""
        return [slot[0].pack() if self._merged(slot) else None for slot in self._slots]

    def merge(self, other: Sequence[bytes | None]) -> None:
        """Add the state of another, whose slices are as long."""
        for slot, packed in zip(self._slots, other, strict=True):
            if packed is not None:
                slot.append(Histogram.unpack(packed))
                self._merged(slot)

    def _tidy_one(self) -> None:
        """Merge two histograms of one slice, if there are any such."""
        if self._crowded:
            if len(self._crowded[-1]) > 1:  # or else ``percentiles`` has done it
                self._tidy(self._crowded[-1])
            if len(self._crowded[-1]) <= 1:
                self._crowded.pop()

    def _merged(self, slices: list[Histogram]) -> bool:
        """Make one histogram of all; True where it has a sample."""
        while len(slices) > 1:
            self._tidy(slices)
        return bool(slices) and slices[0].n > 0

    @staticmethod
    def _tidy(slices: list[Histogram]) -> None:
        last = slices.pop()
        slices[0].merge(last)

    def percentiles(self, slot: int) -> tuple[Percentile, ...]:
        """Of one slice, in ns; empty where it has no sample."""
        slices = self._slots[slot]
        if not self._merged(slices):
            return ()
        histogram = slices[0]
        return tuple(Percentile(p=p, value=histogram.percentile(p) * _US) for p in _PERCENTILES)
