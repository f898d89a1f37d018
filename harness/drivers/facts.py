"""What a driver did: counts, rates and the number of requests in flight over time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.decided import Decided

SLICE_NS = 1_000_000_000


class LoadFacts:
    """The facts of one generated load. They may be read while it goes on.

    Attributes:
        started_ns: Monotonic time of the start of the run.
        ended_ns: Monotonic time at which the last request had ended; 0 while it goes on.
        num_sent: Requests begun.
        num_ended: Of them, ended.
        in_flight: Requests in flight now.
        in_flight_by_second: Largest number in flight in each second of the run.
        dropped_arrivals: Arrivals that were due and never sent: the cap on requests in flight held
            them back until the grace period was over.
        num_backoffs: Times that a slot of a closed loop waited because the server had not replied.
        stop_reason: Which limit ended the run early; None while none did.
        decided: Which look at the objectives ended it early; None while none did.
        nominal_rate: The rate that the schedule was made for, requests per second.
    """

    def __init__(self) -> None:
        self.started_ns = 0
        self.ended_ns = 0
        self.num_sent = 0
        self.num_ended = 0
        self.in_flight = 0
        self.in_flight_by_second: list[int] = []
        self.dropped_arrivals = 0
        self.num_backoffs = 0
        self.stop_reason: str | None = None
        self.decided: Decided | None = None
        self.nominal_rate: float | None = None

    def begin(self, nominal_rate: float | None, start_ns: int | None = None) -> None:
        """The run starts at that instant of the monotonic clock; None for now."""
        self.nominal_rate = nominal_rate
        self.started_ns = time.monotonic_ns() if start_ns is None else start_ns

    def finish(self) -> None:
        """The last request has ended."""
        self.ended_ns = time.monotonic_ns()
        self._reach(self.ended_ns)

    def sending(self) -> None:
        """A request is sent now."""
        now_ns = time.monotonic_ns()
        self.num_sent += 1
        self.in_flight += 1
        second = self._reach(now_ns)
        if self.in_flight > self.in_flight_by_second[second]:
            self.in_flight_by_second[second] = self.in_flight

    def ended(self) -> None:
        """A request has ended now."""
        self._reach(time.monotonic_ns())
        self.num_ended += 1
        self.in_flight -= 1

    def _reach(self, now_ns: int) -> int:
        """Open the slices up to now; a slice begins with what was in flight before it."""
        second = (now_ns - self.started_ns) // SLICE_NS
        missing = second + 1 - len(self.in_flight_by_second)
        if missing > 0:
            self.in_flight_by_second.extend([self.in_flight] * missing)
        return second
