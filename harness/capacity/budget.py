"""What a search may spend, and between which loads."""

from __future__ import annotations

from typing import Final

import msgspec

from harness.capacity.errors import CapacityError

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

    def check(self) -> None:
        """Refuse what can't be.

        Raises:
            CapacityError: Some of it can't.
        """
        if not 0 < self.precision <= 1:
            raise CapacityError(
                f"precision {self.precision:g}: give more than 0 % and at most 100 %, such as 10%"
            )
        if not 2 <= self.max_probes <= _MOST_PROBES:
            raise CapacityError(f"{self.max_probes} probes: give from 2 to {_MOST_PROBES}")
        loads = [each for each in (self.lowest, self.start, self.highest) if each is not None]
        if any(each <= 0 for each in loads) or loads != sorted(loads):
            raise CapacityError("the range must be 0 < lowest <= start <= highest")
