"""One size of load: the bound that the harness states at it, and whether a fresh run keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

if TYPE_CHECKING:
    from harness.calibration.measured import Measured

_SHARE: Final = 100
"""One in so many may lie outside a bound that 99 % keep."""


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """What was found at one number of streams. Times in ns; errors are of the fresh run and without sign.

    Attributes:
        streams: Open at a time.
        chunks_per_s: Received, in the fresh run.
        num_ttfts: TTFTs compared.
        num_gaps: Gaps between chunks compared.
        ttft_error_p50: Of the TTFT from the sending, against the server's log.
        ttft_error_p99: Likewise.
        gap_error_p50: Of the gap between chunks.
        gap_error_p99: Likewise.
        with_way_p50: Of the TTFT against the server's own, in which the request's way there is left out.
        with_way_p99: Likewise.
        ttft_bound: What the harness stated of the TTFT in the run before the fresh one.
        gap_bound: Likewise of the gap.
        ttft_within: Share of the fresh run's TTFTs that keep ``ttft_bound``.
        gap_within: Likewise of the gaps.
        cpu_share: CPU of the harness, in cores.
        holds: Whether both bounds held.
        trusted: Whether they held and were small enough to be of use.
    """

    streams: int
    chunks_per_s: float
    num_ttfts: int
    num_gaps: int
    ttft_error_p50: int
    ttft_error_p99: int
    gap_error_p50: int
    gap_error_p99: int
    with_way_p50: int
    with_way_p99: int
    ttft_bound: int
    gap_bound: int
    ttft_within: float
    gap_within: float
    cpu_share: float
    holds: bool
    trusted: bool

    @property
    def bound(self) -> int:
        """The larger of the two bounds."""
        return max(self.ttft_bound, self.gap_bound)


def level(streams: int, stating: Measured, fresh: Measured, limit_ns: int) -> Level:
    """Hold what one run stated against what came out in the next.

    Args:
        streams: Open at a time in both.
        stating: The run whose bounds are taken.
        fresh: The run whose samples must keep them.
        limit_ns: A bound larger than this is of no use.
    """
    ttfts, gaps = np.abs(fresh.errors.first_stamps), np.abs(fresh.errors.gaps)
    way = np.abs(fresh.errors.with_way)
    ttft_bound, gap_bound = stating.health.stamp_error_p99 or 0, stating.health.interval_error_p99 or 0
    holds = _kept(ttfts, ttft_bound) and _kept(gaps, gap_bound)
    return Level(
        streams=streams,
        chunks_per_s=fresh.chunks_per_s,
        num_ttfts=ttfts.size,
        num_gaps=gaps.size,
        ttft_error_p50=_percentile(ttfts, 50),
        ttft_error_p99=_percentile(ttfts, 99),
        gap_error_p50=_percentile(gaps, 50),
        gap_error_p99=_percentile(gaps, 99),
        with_way_p50=_percentile(way, 50),
        with_way_p99=_percentile(way, 99),
        ttft_bound=ttft_bound,
        gap_bound=gap_bound,
        ttft_within=float(np.mean(ttfts <= ttft_bound)),
        gap_within=float(np.mean(gaps <= gap_bound)),
        cpu_share=fresh.health.cpu_share,
        holds=holds,
        trusted=holds and max(ttft_bound, gap_bound) <= limit_ns,
    )


def _kept(values: np.ndarray[Any, Any], bound_ns: int) -> bool:
    """99 of 100 keep it; of fewer than 100, all but one."""
    return int(np.count_nonzero(values > bound_ns)) <= max(1, values.size // _SHARE)


def _percentile(values: np.ndarray[Any, Any], p: float) -> int:
    return int(np.percentile(values, p, method="inverted_cdf"))
