"""How far the harness itself may be trusted."""

from __future__ import annotations

import msgspec


class WorkerHealth(msgspec.Struct, frozen=True, kw_only=True):
    """One of several processes of a load. All times in ns.

    Attributes:
        num_requests: Requests that it sent.
        cpu_share: CPU time per second of run, in cores.
        loop_lag_p99: How late its event loop ran its probe.
        loop_lag_max: Likewise, the worst.
        schedule_lag_p99: As in ``ClientHealth``.
    """

    num_requests: int
    cpu_share: float
    loop_lag_p99: int
    loop_lag_max: int
    schedule_lag_p99: int | None


class ClientHealth(msgspec.Struct, frozen=True, kw_only=True):
    """How far the harness itself may be trusted. All times in ns.

    Attributes:
        loop_lag_p99: How late the event loop ran its probe.
        loop_lag_max: Likewise, the worst.
        schedule_lag_p99: sent - due, less the time for a new connection. None in a closed loop.
        schedule_lag_max: Likewise, the worst.
        gc_pause_max: Longest garbage collection.
        gc_pause_total: All collections together.
        cpu_share: CPU time of the harness per second of run, in cores.
        coalesced_chunks: Token-bearing events that shared a socket read with an earlier one.
        num_chunks: Token-bearing events in all.
        clock_resolution: Of the monotonic clock.
        dropped_arrivals: Arrivals that were due and never sent.
        achieved_rate: Requests per second really sent, None in a closed loop.
        planned_rate: As planned, None in a closed loop.
        receive_delay_p50: From the kernel's receipt of a chunk to its stamp, on a share of the connections.
            None where the platform or the transport has no kernel stamps.
        receive_delay_p99: Likewise.
        receive_delay_max: Likewise.
        num_receive_delays: Number of samples of it.
        stamp_error_p99: Bound on how late 99 % of the stamps were, hence on the error of times that begin
            with the sending. None in results that don't have it: then the loop lag stands for it.
        interval_error_p99: Bound on the error of 99 % of the times between two stamps.
        response_error_p99: Bound on the error of 99 % of the times that begin with the due time.
        reader_lag_p99: How late the thread that reads got to its probe: then the loop's lag delays no stamp.
            None where the event loop reads.
        reader_lag_max: Likewise, the worst.
        workers: Each process of the load, where there were several: then counts and CPU are the sums of
            theirs, and every time is that of the worst of them.
    """

    loop_lag_p99: int
    loop_lag_max: int
    schedule_lag_p99: int | None
    schedule_lag_max: int | None
    gc_pause_max: int
    gc_pause_total: int
    cpu_share: float
    coalesced_chunks: int
    num_chunks: int
    clock_resolution: int
    dropped_arrivals: int = 0
    achieved_rate: float | None = None
    planned_rate: float | None = None
    receive_delay_p50: int | None = None
    receive_delay_p99: int | None = None
    receive_delay_max: int | None = None
    num_receive_delays: int = 0
    stamp_error_p99: int | None = None
    interval_error_p99: int | None = None
    response_error_p99: int | None = None
    reader_lag_p99: int | None = None
    reader_lag_max: int | None = None
    workers: tuple[WorkerHealth, ...] = ()
