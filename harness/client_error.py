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
    """The bound that 99 % of the series' errors keep: what the harness itself added to a value, in ns.

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
    metric = metrics.metric(series.metric)
    if metric.client_error is ClientError.NONE:
        return None
    if metric.client_error is ClientError.LONGEST:
        probe_ns = health.loop_lag_max if health.reader_lag_max is None else health.reader_lag_max
        return float(max(probe_ns, health.receive_delay_max or 0))
    if not metric.has_bases:
        error_ns = _known(health.interval_error_p99, health)
    elif series.basis == RESPONSE and not capped:
        late_ns = health.loop_lag_p99 + (health.schedule_lag_p99 or 0)
        error_ns = late_ns if health.response_error_p99 is None else health.response_error_p99
    else:
        error_ns = _known(health.stamp_error_p99, health)
    if metric.client_error is ClientError.PER_TOKEN:
        return error_ns / max(1.0, (tokens_per_request or 1.0) - 1)
    return float(error_ns)


def _known(bound_ns: int | None, health: ClientHealth) -> int:
    """A result of before these bounds has the loop's lag alone."""
    return health.loop_lag_p99 if bound_ns is None else bound_ns
