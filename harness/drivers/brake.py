"""Ends a load early, when a limit of the schedule has been passed."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from harness.drivers.saturation import Saturation

if TYPE_CHECKING:
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
        limit = self._limits.in_flight
        if limit is not None and self._facts.in_flight >= limit:
            self.pull(f"{limit} requests were in flight (stop.in_flight)")
        if self._saturation is not None:
            self._look(self._saturation)

    def _look(self, saturation: Saturation) -> None:
        now_ns = time.monotonic_ns() - self._facts.started_ns
        saturation.begun(now_ns)
        reason = saturation.look(now_ns)
        if reason is not None:
            self.pull(reason)

    def ended(self, record: Record) -> None:
        """A request has ended. One that was cut or cancelled says nothing of the server."""
        if self._saturation is not None:
            self._saturation.ended(record)
        self._num_failed += record.outcome.failed
        self._num_ended += record.outcome.failed or record.outcome.succeeded
        limit = self._limits.error_share
        if limit is None or self._num_ended < self._limits.min_ended:
            return
        if self._num_failed > limit * self._num_ended:
            self.pull(
                f"{self._num_failed} of {self._num_ended} requests had failed "
                f"(stop.error_share {100 * limit:g} %)"
            )

    def pull(self, reason: str) -> None:
        """End the sending for that reason; the first reason holds."""
        if not self.pulled.done():
            self._facts.stop_reason = reason
            self.pulled.set_result(None)
