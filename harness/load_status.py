"""How a load stands while it goes on, and at its end: in one process, or in several put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from harness.decided import Decided
from harness.live_view import LiveState, LiveView
from harness.summary.pace import Pace, PaceState
from reports.result import ClientHealth, WorkerHealth

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SUMS: Final = frozenset(
    {
        "gc_pause_total",
        "cpu_share",
        "coalesced_chunks",
        "num_chunks",
        "dropped_arrivals",
        "num_receive_delays",
    }
)


class LoadStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How a load stands.

    Attributes:
        started_ns: Monotonic time of its start; 0 before it.
        elapsed_ns: Since then, until the last request ended.
        num_sent: Requests begun.
        in_flight: Requests in flight now.
        num_backoffs: Times that a slot of a closed loop waited because the server had not replied.
        stopped: Which limit ended it early; None if none did.
        decided: Which look at the objectives ended it early; None if none did.
        pace: First and last of the due times and of the times of sending, monotonic.
        live: The few numbers that are shown.
        health: The harness's own error so far.
        lost: What became of each worker process that did not come to its end.
    """

    started_ns: int = 0
    elapsed_ns: int = 0
    num_sent: int = 0
    in_flight: int = 0
    num_backoffs: int = 0
    stopped: str | None = None
    decided: Decided | None = None
    pace: PaceState
    live: LiveState
    health: ClientHealth
    lost: tuple[str, ...] = ()


def merged(statuses: Sequence[LoadStatus], *, is_open: bool) -> LoadStatus:
    """The status of a load whose parts stand so, one for each worker; at least one."""
    live, pace = LiveView(), Pace()
    for status in statuses:
        live.merge(status.live)
        pace.merge(status.pace)
    planned, achieved = (pace.rates() if is_open else None) or (None, None)
    health = merged_health([status.health for status in statuses])
    return LoadStatus(
        started_ns=max(status.started_ns for status in statuses),
        elapsed_ns=max(status.elapsed_ns for status in statuses),
        num_sent=sum(status.num_sent for status in statuses),
        in_flight=sum(status.in_flight for status in statuses),
        num_backoffs=sum(status.num_backoffs for status in statuses),
        stopped=next((status.stopped for status in statuses if status.stopped), None),
        pace=pace.state(),
        live=live.state(),
        health=msgspec.structs.replace(
            health,
            planned_rate=planned,
            achieved_rate=achieved,
            workers=tuple(map(_of_worker, statuses)),
        ),
    )


def merged_health(healths: Sequence[ClientHealth]) -> ClientHealth:
    """How far numbers may be trusted that all of these gave: counts and CPU are sums, the rest the worst."""
    values: dict[str, Any] = {}
    for name in ClientHealth.__struct_fields__:
        known = [value for health in healths if (value := getattr(health, name)) is not None]
        values[name] = _put_together(name, known)
    return ClientHealth(**{**values, "workers": ()})


def _put_together(name: str, known: Iterable[Any]) -> Any:  # noqa: ANN401 (whatever the field holds)
    return sum(known) if name in _SUMS else max(known, default=None)


def _of_worker(status: LoadStatus) -> WorkerHealth:
    health = status.health
    return WorkerHealth(
        num_requests=status.num_sent,
        cpu_share=health.cpu_share,
        loop_lag_p99=health.loop_lag_p99,
        loop_lag_max=health.loop_lag_max,
        schedule_lag_p99=health.schedule_lag_p99,
    )
