"""Ends a load early, when a limit of the schedule has been passed."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from harness.drivers.saturation import Saturation

if TYPE_CHECKING:
    from harness.decided import Decided
    from harness.drivers.facts import LoadFacts
    from harness.record import Record
    from scenarios.schedule import StopLimits


class Brake:
    """Watches what is begun and what has ended.

    Args:
        limits: Of the schedule.
        facts: Gets the reason.

    Attributes:
        pulled: Done once a limit has been passed: then nothing more may be sent.
    """

    def __init__(self, limits: StopLimits, facts: LoadFacts) -> None:
        self.pulled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._limits = limits
        self._facts = facts
        self._num_ended = self._num_failed = 0
        after_ns = limits.saturation_after_ns
        self._saturation = None if after_ns is None else Saturation(after_ns)

    def begun(self) -> None:
        """A request was begun."""
        self.pull(too_many_in_flight(self._limits, self._facts.in_flight))
        if self._saturation is not None:
            now_ns = self.now_ns()
            self._saturation.begun(now_ns)
            self.pull(self._saturation.look(now_ns))

    def ended(self, record: Record) -> None:
        """A request has ended. One that was cut or cancelled says nothing of the server."""
        if self._saturation is not None:
            self._saturation.ended(record)
        self._num_failed += record.outcome.failed
        self._num_ended += record.outcome.failed or record.outcome.succeeded
        self.pull(too_many_failed(self._limits, self._num_failed, self._num_ended))

    def now_ns(self) -> int:
        """Since the start."""
        return time.monotonic_ns() - self._facts.started_ns

    def pull(self, reason: str | None) -> None:
        """End the sending for that reason, None for no reason; the first one holds."""
        if reason is not None and not self.pulled.done():
            self._facts.stop_reason = reason
            self.pulled.set_result(None)

    def let_end(self, decided: Decided) -> None:
        """End the sending because all is decided, unless a limit has ended it."""
        if not self.pulled.done():
            self._facts.decided = decided
            self.pulled.set_result(None)


def too_many_in_flight(limits: StopLimits, in_flight: int) -> str | None:
    """Why so many requests in flight end a load; None where they don't."""
    if limits.in_flight is None or in_flight < limits.in_flight:
        return None
    return f"{limits.in_flight} requests were in flight (stop.in_flight)"


def too_many_failed(limits: StopLimits, num_failed: int, num_ended: int) -> str | None:
    """Why so many failures end a load; None where they don't."""
    share = limits.error_share
    if share is None or num_ended < limits.min_ended or num_failed <= share * num_ended:
        return None
    return f"{num_failed} of {num_ended} requests had failed (stop.error_share {100 * share:g} %)"
