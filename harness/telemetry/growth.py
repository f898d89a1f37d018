"""By how much counters grew during a run, whatever restarts there were."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from harness.telemetry.figures import Distribution

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from harness.telemetry.log import Reading


def increase(values: Iterable[float]) -> float:
    """How much a counter was moved on. One that fell has begun again from zero."""
    return sum(new - old if new >= old else new for old, new in pairwise(values))


def counted(readings: Sequence[Reading], name: str) -> float | None:
    """The increase of a counter of ``Figures`` from first to last reading; None where it is missing."""
    values = [getattr(reading.figures, name) for reading in readings]
    known = [value for value in values if value is not None]
    return increase(known) if len(known) > 1 and None not in (values[0], values[-1]) else None


def observed(readings: Sequence[Reading], name: str) -> Distribution | None:
    """What a histogram of ``Figures`` took in, without buckets; None if that is nothing."""
    found: list[Distribution] = [
        each for reading in readings if (each := getattr(reading.figures, name)) is not None
    ]
    count, sum_s = (increase(getattr(each, part) for each in found) for part in ("count", "sum_s"))
    return Distribution(count, sum_s) if count > 0 else None


def mean_ns(readings: Sequence[Reading], name: str) -> float | None:
    """The mean of what a histogram took in, in ns."""
    taken_in = observed(readings, name)
    return taken_in.sum_s / taken_in.count * 1e9 if taken_in else None
