"""How far the harness's own slowness may have moved a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness import metrics
from harness.metrics import ClientError
from harness.series import RESPONSE

if TYPE_CHECKING:
    from harness.series import Series
    from reports.result import ClientHealth


def client_error_ns(
    series: Series, health: ClientHealth, *, capped: bool, tokens_per_request: float | None
) -> float | None:
    """The bound (p99) on what the harness itself added to a value of the series, in ns.

    A stamp is late by no more than the event loop was. A response time counts from the due time, so that
    lateness in sending is in it too, unless a cap on requests in flight made requests wait on purpose.

    Args:
        series: Whose values.
        health: What the harness measured of itself.
        capped: Whether the open loop has a cap on requests in flight.
        tokens_per_request: Mean length of the answers, None where unknown.

    Returns:
        None for a metric that time doesn't enter.
    """
    kind = metrics.metric(series.metric).client_error
    if kind is ClientError.NONE:
        return None
    late_ns = 0 if capped or series.basis != RESPONSE else health.schedule_lag_p99 or 0
    error_ns = float(health.loop_lag_p99 + late_ns)
    return error_ns / max(1.0, tokens_per_request or 1.0) if kind is ClientError.PER_TOKEN else error_ns
