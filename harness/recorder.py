"""The metrics of measured requests in histograms: memory doesn't grow with tokens or requests.

This is the one place where exact values become whole histogram units: microseconds, tokens, stalls,
thousandths of a token per second, two-thousandths of the whole.
"""

from __future__ import annotations

import itertools
from array import array
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
import numpy as np

from harness import metrics
from harness.metrics import Missing, Unit
from harness.series import Series, all_series
from harness.terms import NO_TERMS
from reports.hdr_errors import ValueOutOfRangeError
from reports.histogram import Histogram

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.record import Record
    from harness.terms import Terms
    from harness.window import Window

FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

_STEP: Final = {
    Unit.NS: 1_000.0,
    Unit.TOKENS: 1.0,
    Unit.TOKENS_PER_SECOND: 0.001,
    Unit.SHARE: 0.0005,
    Unit.STALLS: 1.0,
    Unit.REQUESTS: 1.0,
}
"""One histogram unit in the metric's unit. Up to 2,000 units have a bucket each, hence that of shares."""
_DUST: Final = 1e-9
_ADDS_PER_TURN: Final = 32
_MANY: Final = 8_192
_NO_REQUEST: Final = "no request succeeded inside the measured window"


def step(unit: str) -> float:
    """One histogram unit in ``unit``."""
    return _STEP[Unit(unit)]


class Recorder:
    """Histograms of every series.

    Args:
        window: What is measured.
        loop: ``open`` or ``closed``.
        terms: Of the scenario; what needs one that it lacks is left out.
    """

    def __init__(self, window: Window, loop: str, terms: Terms = NO_TERMS) -> None:
        self.window = window
        self.loop = loop
        self._columns = {
            series: Column(series, terms)
            for series in all_series(loop)
            if metrics.metric(series.metric).exists_under(terms)
        }
        if loop != "open":
            self._columns.pop(Series("schedule_lag"))
        self._num_added = 0
        self._turns = itertools.cycle(self._columns.values())

    def add(self, record: Record) -> None:
        """Count the values of a request that succeeded and was due inside the window; ignore any other."""
        if not record.outcome.succeeded or not self.window.measures(record):
            return
        for column in self._columns.values():
            column.add(record)
        self._num_added += 1
        if self._num_added % _ADDS_PER_TURN == 0:  # one by one: all at once would hold up the event loop
            next(self._turns).flush()

    def state(self) -> dict[str, ColumnState]:
        """What was counted so far by series, as a value that can be sent to another process."""
        return {str(series): column.state() for series, column in self.columns().items()}

    def merge(self, other: Mapping[str, ColumnState]) -> None:
        """Add the state of another, without loss: as if one recorder had seen every request."""
        for series, column in self._columns.items():
            column.merge(other[str(series)])

    def columns(self) -> dict[Series, Column]:
        """What was counted, by series; up to date until the next ``add``."""
        self._flush()
        return self._columns

    def histogram(self, metric: str, basis: str | None = None) -> Histogram:
        """The live histogram of a series, in histogram units."""
        return self.columns()[Series(metric, basis)].histogram

    def _flush(self) -> None:
        for column in self._columns.values():
            column.flush()


class ColumnState(msgspec.Struct, frozen=True, kw_only=True):
    """What a ``Column`` has counted.

    Attributes:
        histogram: Packed.
        missing: Requests without a value, by reason.
        num_unfit: Values beyond the histogram's range.
    """

    histogram: bytes
    missing: dict[str, int]
    num_unfit: int


class Column:
    """One series: its histogram, and why some requests are not in it.

    Attributes:
        histogram: In histogram units.
        missing: Requests without a value, by reason.
        num_unfit: Values beyond the histogram's range; a run with such a value can't be trusted.
    """

    def __init__(self, series: Series, terms: Terms = NO_TERMS) -> None:
        self.series = series
        self.histogram = Histogram()
        self.missing: Counter[str] = Counter()
        self.num_unfit = 0
        self._metric = metrics.metric(series.metric).under(terms)
        self._step = step(self._metric.unit)
        self._buffer = array("d")

    def add(self, record: Record) -> None:
        """Take the values of one request; they are counted by the next ``flush``."""
        values = self._metric.values(record, self.series.start_ns(record))
        if isinstance(values, Missing):
            self.missing[str(values)] += 1
            return
        if isinstance(values, np.ndarray):
            self._buffer.frombytes(values.tobytes())
        else:
            self._buffer.extend(values)
        if len(self._buffer) >= _MANY:
            self.flush()

    def flush(self) -> None:
        """Count what was taken."""
        if not self._buffer:
            return
        units = self._rounded(np.frombuffer(self._buffer) / self._step).astype(np.int64)
        self._buffer = array("d")
        try:
            self.histogram.record_many(units)
        except ValueOutOfRangeError:
            fits = (units >= 0) & (units <= self.histogram.layout.highest)
            self.num_unfit += int(units.size - np.count_nonzero(fits))
            self.histogram.record_many(units[fits])

    def _rounded(self, units: FloatArray) -> FloatArray:
        """To the nearest; a share downwards, so that only all is all."""
        return np.floor(units + _DUST) if self._metric.unit is Unit.SHARE else np.rint(units)

    @property
    def reason(self) -> str | None:
        """Why there is no sample: the commonest reason; None where there is one."""
        if self.histogram.n:
            return None
        return min(self.missing, key=lambda reason: (-self.missing[reason], reason), default=_NO_REQUEST)

    def state(self) -> ColumnState:
        """What was counted by the last ``flush``."""
        return ColumnState(
            histogram=self.histogram.pack(), missing=dict(self.missing), num_unfit=self.num_unfit
        )

    def merge(self, other: ColumnState) -> None:
        """Add the state of another."""
        self.histogram.merge(Histogram.unpack(other.histogram))
        self.missing.update(other.missing)
        self.num_unfit += other.num_unfit
