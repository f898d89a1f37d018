"""What a search may spend, and between which loads."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import msgspec

from harness.capacity.errors import CapacityError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.capacity.axis import Axis

DEFAULT_PROBES: Final = 16
DEFAULT_TIME_S: Final = 1_800.0
DEFAULT_PRECISION: Final = 0.1
_MOST_PROBES: Final = 1_000


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a search.

    Attributes:
        max_probes: So many probes at most.
        max_time_s: A probe that would end later than this is not begun.
        precision: Enough is known when the interval's ends differ by no more than this share of the lower.
        start: The first load; the scenario's own by default.
        lowest: No smaller load is tried; a thousandth of the first by default, one slot in a closed loop.
        highest: No larger load is tried; None for no limit.
    """

    max_probes: int = DEFAULT_PROBES
    max_time_s: float = DEFAULT_TIME_S
    precision: float = DEFAULT_PRECISION
    start: float | None = None
    lowest: float | None = None
    highest: float | None = None

    def check(self, axis: Axis) -> None:
        """Refuse what can't be.

        Args:
            axis: What the loads are of.

        Raises:
            CapacityError: Some of it can't.
        """
        if not 0 < self.precision <= 1:
            raise CapacityError(
                f"precision {self.precision:g}: give more than 0 % and at most 100 %, such as 10%"
            )
        if not 2 <= self.max_probes <= _MOST_PROBES:
            raise CapacityError(f"{self.max_probes} probes: give from 2 to {_MOST_PROBES}")
        loads = dict(self._loads())
        for option, load in loads.items():
            if not math.isfinite(load) or not axis.least <= load <= axis.most:
                raise CapacityError(f"{option} {load:g}: give {axis.allowed}")
            if axis.whole and not load.is_integer():
                raise CapacityError(f"{option} {load:g}: there are no parts of a slot; give {axis.allowed}")
        if list(loads.values()) != sorted(loads.values()):
            given = ", ".join(f"{option} {load:g}" for option, load in loads.items())
            raise CapacityError(f"{given}: the range must be lowest <= start <= highest")

    def _loads(self) -> Iterator[tuple[str, float]]:
        """Those that are given, by option, which should be from the smallest to the largest."""
        for option, load in (("--min", self.lowest), ("--start", self.start), ("--max", self.highest)):
            if load is not None:
                yield option, load
