"""How far the harness itself may be trusted, measured while it works."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from harness.gc_pauses import GcPauses
from harness.kernel_timer import Timer, new_timer
from harness.probe_lag import PROBE_INTERVAL_NS, ProbeLag, record_lag
from harness.stamp_error import StampError
from reports.histogram import Histogram
from reports.result import ClientHealth

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from harness.drivers import LoadFacts
    from harness.receive_delays import ReceiveDelays
    from harness.record import Record


class HealthProbe:
    """Measures the harness while it is entered, on the running loop.

    **Loop lag** is how late the event loop gets to something that is ready. A kernel timer goes off about
    every 10 ms, at random so that it falls in with no rhythm of the load, and the loop polls it like any
    socket; so its lag is what a chunk that arrived at that instant would have had between the kernel
    and its stamp. A block of the loop is counted for all the probes that it has swallowed, not for one.

    **Schedule lag** is sent - due, less the time for a new connection, which is not the harness's. Where a
    cap on requests in flight holds requests back on purpose, that wait is in it.

    **Receive delay** is the same of real reads, by the kernel's own stamps, on a share of the connections.
    The probe goes off whenever it likes; chunks come together when a server sends to all its streams at
    once, and then each waits for those read before it. Without kernel stamps only the probe speaks.

    How far stamps are off follows from the larger of the two; see ``harness.stamp_error``.

    Args:
        receive_delays: Of the transport; None for one that can't tell.
        facts: Of the load; once it has ended there is nothing to be late for, whatever the loop is busy with.
    """

    def __init__(self, receive_delays: ReceiveDelays | None = None, facts: LoadFacts | None = None) -> None:
        self._receive_delays = receive_delays
        self._facts = facts
        self._loop_lag = ProbeLag()
        self._schedule_lag = Histogram()
        self._pauses = GcPauses()
        self._chance = random.Random()
        self._timer: Timer | None = None
        self._probe_ns = 0
        self._begun_ns = 0
        self._begun_cpu_ns = 0
        self._cpu_share: float | None = None
        self._num_chunks = 0
        self._num_coalesced = 0

    def __enter__(self) -> Self:
        self._pauses.__enter__()
        self._begun_ns, self._begun_cpu_ns = time.monotonic_ns(), time.process_time_ns()
        self._timer = new_timer(self._probe)
        self._arm()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._timer is not None
        self._timer.close()
        self._cpu_share = self._share_of_cpu()
        self._pauses.__exit__(kind, error, traceback)

    def observe(self, record: Record) -> None:
        """Take a request's own lateness into account."""
        self._num_chunks += len(record.chunk_ns)
        self._num_coalesced += record.coalesced_chunks
        if record.sent_ns is not None:
            record_lag(self._schedule_lag, record.sent_ns - record.due_ns - record.connect_ns)

    def report(
        self, facts: LoadFacts, rates: tuple[float, float] | None = None, *, is_open: bool
    ) -> ClientHealth:
        """What has been found.

        Args:
            facts: Of the load that was generated meanwhile.
            rates: Of its requests: per second as due, and as sent; None where they aren't known.
            is_open: True for an open loop. A closed one has no schedule to be late for.
        """
        delays = Histogram() if self._receive_delays is None else self._receive_delays.histogram()
        loop_lag = self._loop_lag.histogram
        reader_lag = None if self._receive_delays is None else self._receive_delays.reader_lag()
        planned, achieved = rates or (None, None)
        error = StampError(
            loop_lag if reader_lag is None else reader_lag, delays, self._schedule_lag if is_open else None
        )
        return ClientHealth(
            loop_lag_p99=_p99(loop_lag),
            loop_lag_max=_max(loop_lag),
            reader_lag_p99=None if reader_lag is None else _p99(reader_lag),
            reader_lag_max=None if reader_lag is None else _max(reader_lag),
            schedule_lag_p99=_p99(self._schedule_lag) if is_open else None,
            schedule_lag_max=_max(self._schedule_lag) if is_open else None,
            gc_pause_max=self._pauses.max_ns,
            gc_pause_total=self._pauses.total_ns,
            cpu_share=self._share_of_cpu(),
            coalesced_chunks=self._num_coalesced,
            num_chunks=self._num_chunks,
            clock_resolution=max(1, round(time.get_clock_info("monotonic").resolution * 1e9)),
            dropped_arrivals=facts.dropped_arrivals,
            achieved_rate=achieved,
            planned_rate=planned,
            receive_delay_p50=round(delays.percentile(50) * 1_000) if delays.n else None,
            receive_delay_p99=_p99(delays) if delays.n else None,
            receive_delay_max=_max(delays) if delays.n else None,
            num_receive_delays=delays.n,
            stamp_error_p99=error.of_stamps(),
            interval_error_p99=error.of_intervals(),
            response_error_p99=error.of_responses(),
        )

    def _share_of_cpu(self) -> float:
        """Until now, or until the end of the measurement."""
        if self._cpu_share is not None or not self._begun_ns:
            return self._cpu_share or 0.0
        wall_ns = max(1, time.monotonic_ns() - self._begun_ns)
        return (time.process_time_ns() - self._begun_cpu_ns) / wall_ns

    def _arm(self) -> None:
        assert self._timer is not None
        self._probe_ns = time.monotonic_ns() + self._chance.randrange(
            PROBE_INTERVAL_NS // 2, PROBE_INTERVAL_NS * 3 // 2
        )
        self._timer.arm(self._probe_ns)

    def _probe(self) -> None:
        ended_ns = self._facts.ended_ns if self._facts is not None else 0
        lag_ns = (ended_ns or time.monotonic_ns()) - self._probe_ns
        if lag_ns < 0:
            return
        self._loop_lag.note(lag_ns)
        self._pauses.sweep()
        self._arm()


def _p99(histogram: Histogram) -> int:
    return round(histogram.percentile(99) * 1_000) if histogram.n else 0


def _max(histogram: Histogram) -> int:
    return round(histogram.maximum * 1_000) if histogram.n else 0
