"""High dynamic range histogram: bounded relative error, lossless merge, one percentile function.

Values are integers. Times are recorded in **microseconds**: 1 us to 1 h with 3 significant digits,
the finest scale on which a client in user space can be trusted, in at most 23,552 counters (184 KiB).
Counters are allocated up to the largest value seen. Minimum, maximum and sum are kept exact beside
the counts. A value that doesn't fit is an error and never clipped.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np

from reports.hdr_errors import DecodeError, NoSamplesError, UnlikeHistogramsError, ValueOutOfRangeError
from reports.hdr_layout import IntArray, Layout
from reports.order_statistics import interval_ranks, nearest_rank

_FEW = 1_000  # below this adding one by one beats counting into a whole array


class _Packed(msgspec.Struct, frozen=True, array_like=True):
    layout: tuple[int, int, int]
    minimum: int
    maximum: int
    total: str | None  # may be beyond 64 bits
    buckets: bytes
    counts: bytes


class Histogram:
    """Counts of integer values.

    Args:
        lowest: Smallest value told apart from 0.
        highest: Largest value that may be recorded.
        digits: Significant decimal digits, 1 to 5.
    """

    __slots__ = ("_counts", "_cumulative", "_maximum", "_minimum", "_total", "layout", "n")

    def __init__(self, lowest: int = 1, highest: int = 3_600_000_000, digits: int = 3) -> None:
        self.layout = Layout(lowest, highest, digits)
        self.reset()

    def reset(self) -> None:
        """Forget all samples."""
        self.n = 0
        self._counts: IntArray = np.zeros(0, np.int64)
        self._minimum = 0
        self._maximum = 0
        self._total: int | None = 0
        self._cumulative: IntArray | None = None

    def copy(self) -> Histogram:
        """An independent histogram with the same content."""
        twin = Histogram(self.layout.lowest, self.layout.highest, self.layout.digits)
        twin.merge(self)
        return twin

    # Recording

    def record(self, value: int, count: int = 1) -> None:
        """Count ``value`` ``count`` times.

        Raises:
            ValueOutOfRangeError: The value is negative or above ``highest``, or the count is below 1.
        """
        self._check(value, value)
        if count < 1:
            raise ValueOutOfRangeError(f"count {count}; give 1 or more")
        self._reserve(value)
        self._counts[self.layout.index(value)] += count
        self._account(count, value, value, value * count)

    def record_many(self, values: IntArray) -> None:
        """Count every value of an integer array, all or none.

        Raises:
            ValueOutOfRangeError: A value is negative or above ``highest``.
            TypeError: The array doesn't hold integers.
        """
        values = np.asarray(values)
        if values.size == 0:
            return
        if values.dtype.kind not in "iu":
            raise TypeError(f"values of type {values.dtype}; round them to integers first")
        minimum, maximum = int(values.min()), int(values.max())
        self._check(minimum, maximum)
        values = values.astype(np.int64, copy=False).ravel()
        self._reserve(maximum)
        self._add(self.layout.indices(values))
        exact = maximum * values.size < 1 << 63
        self._account(values.size, minimum, maximum, int(values.sum()) if exact else sum(values.tolist()))

    def merge(self, other: Histogram) -> None:
        """Add the counts of ``other``, without loss; the range grows to hold both.

        Raises:
            UnlikeHistogramsError: The two differ in precision or lowest value.
        """
        if not self.layout.lines_up_with(other.layout):
            raise UnlikeHistogramsError(
                f"merging {other.layout} into {self.layout} would lose precision; "
                "record both with the same lowest value and number of digits"
            )
        if other.layout.highest > self.layout.highest:
            self.layout = other.layout
        if not other.n:
            return
        self._reserve(other._maximum)
        self._counts[: other.counts.size] += other.counts
        total = self._total
        self._account(other.n, other._minimum, other._maximum, 0)
        self._total = None if total is None or other._total is None else total + other._total

    def _check(self, minimum: int, maximum: int) -> None:
        if minimum < 0 or maximum > self.layout.highest:
            wrong = minimum if minimum < 0 else maximum
            raise ValueOutOfRangeError(
                f"value {wrong} is outside 0..{self.layout.highest}; "
                "check its unit and sign, or make the histogram with a larger highest value"
            )

    def _reserve(self, value: int) -> None:
        index = self.layout.index(value)
        if index >= self._counts.size:
            octave = 1 << self.layout.half_magnitude
            grown = np.zeros((index // octave + 1) * octave, np.int64)
            grown[: self._counts.size] = self._counts
            self._counts = grown

    def _add(self, indices: IntArray) -> None:
        if indices.size < _FEW:
            np.add.at(self._counts, indices, 1)
        else:
            self._counts += np.bincount(indices, minlength=self._counts.size)

    def _account(self, n: int, minimum: int, maximum: int, total: int) -> None:
        self._minimum = min(self._minimum, minimum) if self.n else minimum
        self._maximum = max(self._maximum, maximum) if self.n else maximum
        self.n += n
        if self._total is not None:
            self._total += total
        self._cumulative = None

    # Statistics

    @property
    def counts(self) -> IntArray:
        """Read-only counts up to the bucket of the maximum."""
        view = self._counts[: self.layout.index(self._maximum) + 1 if self.n else 0]
        view.flags.writeable = False
        return view

    @property
    def minimum(self) -> int:
        """Exact smallest sample; of a decoded histogram the low end of its bucket."""
        self._demand_samples("minimum")
        return self._minimum

    @property
    def maximum(self) -> int:
        """Exact largest sample; of a decoded histogram the high end of its bucket."""
        self._demand_samples("maximum")
        return self._maximum

    @property
    def mean(self) -> float:
        """Exact mean; of a decoded histogram the mean of the buckets' middles."""
        self._demand_samples("mean")
        if self._total is not None:
            return self._total / self.n
        return float(np.dot(self._middles(), self._used_counts()) / self.n)

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of the buckets' middles."""
        self._demand_samples("standard deviation")
        middles, counts = self._middles(), self._used_counts()
        mean = np.dot(middles, counts) / self.n
        return math.sqrt(float(np.dot((middles - mean) ** 2, counts)) / self.n)

    @property
    def skewness(self) -> float:
        """Third moment of the buckets' middles over their deviation cubed; 0 for equal ones."""
        deviation = self.standard_deviation
        if not deviation:
            return 0.0
        middles, counts = self._middles(), self._used_counts()
        mean = np.dot(middles, counts) / self.n
        return float(np.dot((middles - mean) ** 3, counts)) / self.n / deviation**3

    def value_at_rank(self, rank: int) -> int:
        """The sample of that rank (1 is the smallest): the high end of its bucket, at most ``maximum``.

        Raises:
            ValueError: The rank is not in 1..n.
        """
        if not 1 <= rank <= self.n:
            raise ValueError(f"rank {rank} among {self.n} samples; give 1 to n")
        index = int(np.searchsorted(self._running_count(), rank))
        return min(self.layout.high(index), self._maximum)

    def percentile(self, p: float) -> int:
        """The nearest-rank percentile: the sample of rank ``ceil(p / 100 * n)``.

        Raises:
            NoSamplesError: The histogram is empty.
            ValueError: p is not in 0 < p <= 100.
        """
        rank = nearest_rank(p, max(1, self.n))
        self._demand_samples(f"p{p:g}")
        return self.value_at_rank(rank)

    def percentile_interval(self, p: float, confidence: float = 0.95) -> tuple[int | None, int | None]:
        """Two samples that enclose percentile ``p`` with that confidence, whatever the distribution.

        None where n is too small for a bound on that side. Samples must be independent.

        Raises:
            NoSamplesError: The histogram is empty.
            ValueError: p or confidence is out of range.
        """
        ranks = interval_ranks(p, max(1, self.n), confidence)
        self._demand_samples(f"the interval of p{p:g}")
        low, high = (None if rank is None else self.value_at_rank(rank) for rank in ranks)
        return low, high

    def count_over(self, limit: float) -> int:
        """Number of samples above ``limit``, as ``percentile`` sees them.

        ``percentile(p) <= limit`` holds exactly when ``count_over(limit) <= n - rank``.
        """
        if not self.n or limit >= self._maximum:
            return 0
        if limit < self._minimum:
            return self.n
        return self.n - int(self._counts[: self.layout.index(math.floor(limit) + 1)].sum())

    def buckets(self) -> tuple[IntArray, IntArray]:
        """High ends (at most ``maximum``) and counts of the buckets in use, ascending."""
        highs = self.layout.highs(np.flatnonzero(self.counts))
        return np.minimum(highs, self._maximum), self._used_counts()

    def _used_counts(self) -> IntArray:
        return self.counts[self.counts > 0]

    def _middles(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        used = np.flatnonzero(self.counts)
        return (self.layout.lows(used) + self.layout.widths(used) // 2).astype(np.float64)

    def _running_count(self) -> IntArray:
        if self._cumulative is None:
            self._cumulative = np.cumsum(self._counts)
        return self._cumulative

    def _demand_samples(self, what: str) -> None:
        if not self.n:
            raise NoSamplesError(f"{what} of no samples; look at n first")

    # Serial form

    def pack(self) -> bytes:
        """All of it, exact: minimum, maximum and mean too, which HDR histograms leave out."""
        used = np.flatnonzero(self.counts)
        layout = self.layout
        packed = _Packed(
            layout=(layout.lowest, layout.highest, layout.digits),
            minimum=self._minimum,
            maximum=self._maximum,
            total=None if self._total is None else str(self._total),
            buckets=used.astype("<i4").tobytes(),
            counts=self._counts[used].astype("<i8").tobytes(),
        )
        return msgspec.msgpack.encode(packed)

    @classmethod
    def unpack(cls, data: bytes) -> Histogram:
        """The histogram that ``pack`` was called on.

        Raises:
            DecodeError: It is none.
        """
        try:
            packed = msgspec.msgpack.decode(data, type=_Packed)
            histogram = cls(*packed.layout)
            histogram._restore(packed)
        except (msgspec.MsgspecError, ValueError, IndexError) as error:
            raise DecodeError(f"packed histogram can't be read ({error}); it is damaged") from error
        return histogram

    def _restore(self, packed: _Packed) -> None:
        counts = np.frombuffer(packed.counts, "<i8")
        if not counts.size:
            return
        self._check(packed.minimum, packed.maximum)
        self._reserve(packed.maximum)
        self._counts[np.frombuffer(packed.buckets, "<i4")] = counts
        total = None if packed.total is None else int(packed.total)
        self._account(int(counts.sum()), packed.minimum, packed.maximum, total or 0)
        self._total = total

    @classmethod
    def from_counts(cls, layout: Layout, counts: IntArray) -> Histogram:
        """A histogram of which nothing but the count of each bucket is known."""
        histogram = cls(layout.lowest, layout.highest, layout.digits)
        used = np.flatnonzero(counts)
        if used.size:
            first, last = int(used[0]), int(used[-1])
            histogram._reserve(layout.low(last))
            histogram._counts[: last + 1] = counts[: last + 1]
            histogram._account(int(counts.sum()), layout.low(first), layout.high(last), 0)
            histogram._total = None
        return histogram
