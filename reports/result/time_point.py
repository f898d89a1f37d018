"""A run over time."""

from __future__ import annotations

import msgspec

from reports.percentile import Percentile


class TimePoint(msgspec.Struct, frozen=True, kw_only=True):
    """One slice of the run, for the charts over time.

    Attributes:
        start_s: Seconds after the start of the run.
        length_s: Length of the slice.
        in_flight: Largest number of requests in flight.
        sent: Requests sent in the slice.
        completed: Requests that ended well in the slice.
        failed: Requests that failed in the slice.
        output_tokens: Tokens that arrived in the slice.
        ttft: Percentiles of response TTFT of requests whose first token arrived in the slice, ns.
        itl: Percentiles of the gaps between tokens that arrived in the slice, ns.
        tpot: Percentiles of the TPOT of requests that ended in the slice, ns.
    """

    start_s: float
    length_s: float
    in_flight: int
    sent: int
    completed: int
    failed: int
    output_tokens: int
    ttft: tuple[Percentile, ...] = ()
    itl: tuple[Percentile, ...] = ()
    tpot: tuple[Percentile, ...] = ()
