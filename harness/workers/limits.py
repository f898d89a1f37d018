"""Limits that end a load early, looked at by the run's process for all workers together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.drivers.brake import Brake, too_many_failed, too_many_in_flight
from harness.drivers.saturation import Bins, Saturation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.drivers.facts import LoadFacts
    from harness.drivers.saturation import Bin
    from harness.load_status import LoadStatus
    from harness.record import Record
    from scenarios.schedule import StopLimits


class ShareBrake(Brake):
    """The brake of a worker, which is pulled from outside: no worker sees the whole load."""

    def __init__(self, limits: StopLimits, facts: LoadFacts) -> None:
        super().__init__(limits, facts)
        self._bins = None if limits.saturation_after_ns is None else Bins()

    def begun(self) -> None:
        """See ``Brake``."""
        if self._bins is not None:
            self._bins.begun(self.now_ns())

    def ended(self, record: Record) -> None:
        """See ``Brake``."""
        if self._bins is not None:
            self._bins.ended(record)

    def take(self) -> list[Bin]:
        """What there is new for the test of saturation."""
        return [] if self._bins is None else self._bins.take()


class CommonLimits:
    """Whether a limit of the load has been passed by all workers together.

    They are looked at whenever a worker is heard of, and not with each request: some more may be sent than
    a limit says.

    Args:
        limits: Of the schedule.
    """

    def __init__(self, limits: StopLimits) -> None:
        self._limits = limits
        after_ns = limits.saturation_after_ns
        self._saturation = None if after_ns is None else Saturation(after_ns)

    def take(self, bins: Iterable[Bin]) -> None:
        """What a worker has new for the test of saturation."""
        if self._saturation is not None:
            self._saturation.merge(bins)

    def passed(self, statuses: Sequence[LoadStatus]) -> str | None:
        """Why the load ends now; None where it goes on.

        Args:
            statuses: How each worker's load stands.
        """
        num_failed = sum(status.live.num_failed for status in statuses)
        num_ended = num_failed + sum(status.live.num_ok for status in statuses)
        return (
            too_many_in_flight(self._limits, sum(status.in_flight for status in statuses))
            or too_many_failed(self._limits, num_failed, num_ended)
            or self._saturated(statuses)
        )

    def _saturated(self, statuses: Sequence[LoadStatus]) -> str | None:
        """Up to the time of which every worker has told."""
        if self._saturation is None:
            return None
        return self._saturation.look(min(status.elapsed_ns for status in statuses))
