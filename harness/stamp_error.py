"""How far times are off that were made of the harness's own stamps: bounds that 99 % of them keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reports.order_statistics import interval_ranks

if TYPE_CHECKING:
    from reports.histogram import Histogram

_ONE: Final = 99.0
_EACH_OF_TWO: Final = 99.5
"""Where two things can go wrong, each may in half as many cases (Bonferroni), however they hang together."""
_CONFIDENCE: Final = 0.9
"""Of an interval with both ends: 95 % for the upper one alone."""


class StampError:
    """The bounds, in ns, from what the harness has measured of itself so far.

    A stamp is never early. It is late by what the reader's probe (the event loop's, where that reads) or the
    kernel's stamps say, whichever is more. Of a percentile stands its upper confidence bound, or the largest
    value where there are too few to have one.

    Args:
        probe_lag: How late whoever stamps got to its probe, us.
        receive_delays: By the kernel's stamps, us; empty where there are none.
        schedule_lag: How late requests were sent, us; None in a closed loop.
    """

    def __init__(
        self, probe_lag: Histogram, receive_delays: Histogram, schedule_lag: Histogram | None
    ) -> None:
        self._probe_lag = probe_lag
        self._receive_delays = receive_delays
        self._schedule_lag = schedule_lag

    def of_stamps(self) -> int:
        """Of a time from the sending to a stamp: the one stamp is late."""
        return self._stamps(_ONE)

    def of_intervals(self) -> int:
        """Of a time between two stamps: the later one makes it longer, the earlier one shorter."""
        return self._stamps(_EACH_OF_TWO)

    def of_responses(self) -> int:
        """Of a time from the due time to a stamp: what it was sent too late is in it as well."""
        if self._schedule_lag is None:
            return self._stamps(_ONE)
        return self._stamps(_EACH_OF_TWO) + _upper_ns(self._schedule_lag, _EACH_OF_TWO)

    def _stamps(self, p: float) -> int:
        return max(_upper_ns(self._probe_lag, p), _upper_ns(self._receive_delays, p))


def _upper_ns(histogram: Histogram, p: float) -> int:
    if not histogram.n:
        return 0
    _, rank = interval_ranks(p, histogram.n, _CONFIDENCE)
    upper = histogram.maximum if rank is None else histogram.value_at_rank(rank)
    return upper * 1_000
