"""Percentiles of one metric of one run, for tables of many runs."""

from __future__ import annotations

import msgspec


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """In ns; None without samples.

    Attributes:
        name: ``ttft``, ``tpot`` or ``e2e``.
        p50: The median.
        p95: Likewise.
        p99: Likewise.
    """

    name: str
    p50: float | None
    p95: float | None
    p99: float | None
