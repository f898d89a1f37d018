"""The health of a client that is well."""

from __future__ import annotations

from typing import Any

from reports.result import ClientHealth


def healthy(**fields: Any) -> ClientHealth:
    """A tenth of a millisecond late at most; ``fields`` win over everything."""
    values: dict[str, Any] = {
        "loop_lag_p99": 100_000,
        "loop_lag_max": 100_000,
        "schedule_lag_p99": 100_000,
        "schedule_lag_max": 100_000,
        "gc_pause_max": 0,
        "gc_pause_total": 0,
        "cpu_share": 0.1,
        "coalesced_chunks": 0,
        "num_chunks": 1,
        "clock_resolution": 1,
    }
    return ClientHealth(**{**values, **fields})
