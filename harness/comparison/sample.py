"""What of a run a comparison needs, in a size that can be committed.

Requests are put into at most some 2,048 cells of neighbours in the schedule (cell = index // requests per
cell), and of each cell the counts of HDR buckets are kept. So percentiles are those of the report, the order
that resampling needs is kept, and the size is bounded.
"""

from __future__ import annotations

import functools
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np

from reports.histogram import Histogram

IntArray: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

MAX_CELLS: Final = 2_048


class Cells(msgspec.Struct, frozen=True, dict=True):
    """One series by cell. Arrays as 32-bit integers, little end first; sums as 64-bit floats.

    Attributes:
        num_cells: How many there are.
        cell: Of each entry.
        bucket: HDR bucket of each entry, in histogram units.
        count: Values in that bucket of that cell.
        sums: Exact sum of the values of each cell, in histogram units.
        maximum: The largest value, in histogram units.
    """

    num_cells: int
    cell: bytes
    bucket: bytes
    count: bytes
    sums: bytes
    maximum: int

    @classmethod
    def of(cls, cell: IntArray, bucket: IntArray, count: IntArray, sums: FloatArray, maximum: int) -> Cells:
        """Pack arrays."""
        return cls(
            sums.size, _packed(cell), _packed(bucket), _packed(count), sums.astype("<f8").tobytes(), maximum
        )

    @functools.cached_property
    def entries(self) -> tuple[IntArray, IntArray, IntArray]:
        """Cell, bucket and count of each entry."""
        return _unpacked(self.cell), _unpacked(self.bucket), _unpacked(self.count)

    @functools.cached_property
    def sums_by_cell(self) -> FloatArray:
        """In histogram units."""
        return np.frombuffer(self.sums, "<f8")

    @functools.cached_property
    def counts_by_cell(self) -> FloatArray:
        """Number of values in each cell."""
        cell, _, count = self.entries
        return np.bincount(cell, weights=count, minlength=self.num_cells).astype(np.float64)

    @functools.cached_property
    def histogram(self) -> Histogram:
        """All cells together; counts and maximum are exact, the mean is not."""
        _, bucket, count = self.entries
        whole = Histogram()
        counts = np.zeros(whole.layout.length, np.int64)
        np.add.at(counts, bucket, count)
        used = np.flatnonzero(counts)
        for index in used[:-1]:
            whole.record(whole.layout.low(int(index)), int(counts[index]))
        if used.size:
            whole.record(self.maximum, int(counts[used[-1]]))
        return whole

    def beyond(self, bucket: int) -> FloatArray:
        """Number of values above that bucket in each cell."""
        cell, buckets, count = self.entries
        return np.bincount(cell, weights=count * (buckets > bucket), minlength=self.num_cells).astype(
            np.float64
        )

    def coarser(self, factor: int, num_cells: int) -> Cells:
        """``factor`` neighbours made one, in so many cells."""
        cell, bucket, count = self.entries
        sums = np.zeros(num_cells)
        np.add.at(sums, np.arange(self.num_cells) // factor, self.sums_by_cell)
        return Cells.of(cell // factor, bucket, count, sums, self.maximum)


class Slices(msgspec.Struct, frozen=True):
    """Counts over time, of the whole slices inside the measured window.

    Attributes:
        length_s: Of a slice.
        first: Number of the first one, counted from the start of the run.
        counts: By rate.
    """

    length_s: float
    first: int
    counts: dict[str, list[int]]


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One run.

    Attributes:
        per_cell: Requests of the schedule in a cell, a power of two.
        num_requests: Measured ones.
        series: By metric.
        shares: By name, what is counted above and below the line in each cell.
        slices: Over time.
        rates: Value of each rate and share over the whole window, as the report has it; None without one.
        reasons: Why a metric or rate has no value.
        client_errors: The harness's own error of each metric, ns.
    """

    per_cell: int
    num_requests: int
    series: dict[str, Cells]
    shares: dict[str, tuple[list[int], list[int]]]
    slices: Slices
    rates: dict[str, float | None]
    reasons: dict[str, str]
    client_errors: dict[str, float]


def _packed(values: IntArray) -> bytes:
    return values.astype("<i4").tobytes()


def _unpacked(data: bytes) -> IntArray:
    return np.frombuffer(data, "<i4").astype(np.int64)
