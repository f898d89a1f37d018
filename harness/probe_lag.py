"""How late something got to a probe that goes off about every 10 ms, as a histogram in us."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reports.histogram import Histogram

if TYPE_CHECKING:
    from collections.abc import Iterable

PROBE_INTERVAL_NS: Final = 10_000_000


class ProbeLag:
    """A block is counted for all the probes that it has swallowed, not for one.

    Attributes:
        histogram: us.
    """

    def __init__(self) -> None:
        self.histogram = Histogram()

    def note(self, lag_ns: int) -> None:
        """It got to a probe so late."""
        self._count(lag_ns)
        for swallowed_ns in range(lag_ns - PROBE_INTERVAL_NS, 0, -PROBE_INTERVAL_NS):
            self._count(swallowed_ns)

    def note_all(self, lags_ns: Iterable[int]) -> None:
        """Several of them."""
        for lag_ns in lags_ns:
            self.note(lag_ns)

    def _count(self, lag_ns: int) -> None:
        self.histogram.record(min(max(0, lag_ns // 1_000), self.histogram.layout.highest))
