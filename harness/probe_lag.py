"""How late something got to a probe that goes off about every 10 ms, as a histogram in us."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reports.histogram import Histogram

if TYPE_CHECKING:
    from collections.abc import Iterable

PROBE_INTERVAL_NS: Final = 10_000_000


def record_lag(histogram: Histogram, lag_ns: int) -> None:
    """Count a lag in a histogram of us; one that it doesn't hold as the nearest that it does."""
    histogram.record(min(max(0, lag_ns // 1_000), histogram.layout.highest))


class ProbeLag:
    """A block is counted for all the probes that it has swallowed, not for one.

    Attributes:
        histogram: us.
    """

    def __init__(self) -> None:
        self.histogram = Histogram()

    def note(self, lag_ns: int) -> None:
        """It got to a probe so late."""
        record_lag(self.histogram, lag_ns)
        for swallowed_ns in range(lag_ns - PROBE_INTERVAL_NS, 0, -PROBE_INTERVAL_NS):
            record_lag(self.histogram, swallowed_ns)

    def note_all(self, lags_ns: Iterable[int]) -> None:
        """Several of them."""
        for lag_ns in lags_ns:
            self.note(lag_ns)
