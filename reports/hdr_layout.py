"""Which bucket of a high dynamic range histogram a value falls into, and back.

The layout is that of HdrHistogram (hdrhistogram.org): linear buckets up to ``2 * 10**digits`` units,
then octaves of half as many buckets each. A histogram with a larger ``highest`` has the same buckets
and more of them, so counts of one layout are a prefix of the other's.
"""

from __future__ import annotations

import dataclasses
from functools import cached_property

import numpy as np
import numpy.typing as npt

from reports.hdr_errors import HistogramError

IntArray = npt.NDArray[np.int64]

_FLOAT_EXACT = 1 << 53  # from here on a float64 may round up to the next power of two


@dataclasses.dataclass(frozen=True)
class Layout:
    """The buckets of a histogram.

    Attributes:
        lowest: Smallest value told apart from 0, >= 1.
        highest: Largest value it must hold, >= 2 * lowest.
        digits: Significant decimal digits, 1 to 5: a bucket is no wider than ``value / 10**digits``.
    """

    lowest: int = 1
    highest: int = 3_600_000_000
    digits: int = 3

    def __post_init__(self) -> None:
        if not 1 <= self.digits <= 5:
            raise HistogramError(f"{self.digits} significant digits; give 1 to 5")
        if self.lowest < 1 or not 2 * self.lowest <= self.highest < 1 << 63:
            raise HistogramError(
                f"range {self.lowest}..{self.highest}; give 1 <= lowest, 2 * lowest <= highest < 2**63"
            )

    @cached_property
    def unit_magnitude(self) -> int:
        """Binary logarithm of the finest bucket's width."""
        return self.lowest.bit_length() - 1

    @cached_property
    def half_magnitude(self) -> int:
        """Binary logarithm of the number of buckets in an octave."""
        return int(2 * 10**self.digits - 1).bit_length() - 1

    @cached_property
    def length(self) -> int:
        """Number of buckets that cover ``highest``."""
        octaves = max(1, self.highest.bit_length() - self.unit_magnitude - self.half_magnitude)
        return (octaves + 1) << self.half_magnitude

    def lines_up_with(self, other: Layout) -> bool:
        """True where equal bucket numbers mean equal values."""
        return (self.unit_magnitude, self.half_magnitude) == (other.unit_magnitude, other.half_magnitude)

    def index(self, value: int) -> int:
        """The bucket of ``value`` >= 0."""
        linear = (value >> self.unit_magnitude) | ((2 << self.half_magnitude) - 1)
        octave = linear.bit_length() - self.half_magnitude - 1
        return (octave << self.half_magnitude) + (value >> (octave + self.unit_magnitude))

    def indices(self, values: IntArray) -> IntArray:
        """The buckets of many values >= 0."""
        units = values >> self.unit_magnitude if self.unit_magnitude else values
        linear = units | ((2 << self.half_magnitude) - 1)
        if linear.size and int(linear.max()) >= _FLOAT_EXACT:
            linear &= ~(linear >> 1)  # a zero below the leading bit: rounding can't carry into it
        octave = np.frexp(linear)[1] - np.int32(self.half_magnitude + 1)
        result: IntArray = units >> octave
        result += octave << self.half_magnitude
        return result

    def low(self, index: int) -> int:
        """The smallest value of a bucket."""
        octave = max(0, (index >> self.half_magnitude) - 1)
        return (index - (octave << self.half_magnitude)) << (octave + self.unit_magnitude)

    def high(self, index: int) -> int:
        """The largest value of a bucket."""
        return self.low(index + 1) - 1

    def lows(self, indices: IntArray) -> IntArray:
        """The smallest value of each bucket; buckets must lie below 2**63."""
        octave = np.maximum(0, (indices >> self.half_magnitude) - 1)
        result: IntArray = (indices - (octave << self.half_magnitude)) << (octave + self.unit_magnitude)
        return result

    def highs(self, indices: IntArray) -> IntArray:
        """The largest value of each bucket; buckets must end at or below 2**63."""
        return self.lows(indices) + (self.widths(indices) - 1)

    def widths(self, indices: IntArray) -> IntArray:
        """How many values each bucket holds."""
        octave = np.maximum(0, (indices >> self.half_magnitude) - 1)
        result: IntArray = np.int64(1) << (octave + self.unit_magnitude)
        return result
