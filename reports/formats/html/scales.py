"""From a value to a place on an axis, and the ticks a reader expects there."""

from __future__ import annotations

import dataclasses
import math
from typing import Protocol


@dataclasses.dataclass(frozen=True)
class Tick:
    """A labelled place on an axis.

    Attributes:
        at: 0 (left, bottom) to 1.
        label: What is written there.
    """

    at: float
    label: str


class Scale(Protocol):
    """Maps values to 0..1."""

    def at(self, value: float) -> float:
        """The place of ``value``, held within 0..1."""

    def ticks(self, label_divisor: float) -> tuple[Tick, ...]:
        """Round values with their labels, values divided by ``label_divisor``."""


@dataclasses.dataclass(frozen=True)
class Linear:
    """Equal steps from ``low`` to ``high``."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """The place of ``value``, held within 0..1."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))

    def ticks(self, label_divisor: float = 1.0) -> tuple[Tick, ...]:
        """Four to seven round values."""
        step = nice_step((self.high - self.low) / label_divisor / 5)
        first = math.ceil(self.low / label_divisor / step - 1e-9)
        last = math.floor(self.high / label_divisor / step + 1e-9)
        return tuple(
            Tick(self.at(i * step * label_divisor), _label(i * step)) for i in range(first, last + 1)
        )


@dataclasses.dataclass(frozen=True)
class Log:
    """Equal ratios from ``low`` > 0 to ``high``."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """The place of ``value``, held within 0..1."""
        if value <= self.low:
            return 0.0
        return min(1.0, math.log(value / self.low) / math.log(self.high / self.low))

    def ticks(self, label_divisor: float = 1.0) -> tuple[Tick, ...]:
        """1, 2 and 5 of each decade; fewer where there are many decades."""
        low, high = self.low / label_divisor, self.high / label_divisor
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        leading = (1, 2, 5) if high / low <= 3_000 else (1,)
        values = [lead * 10.0**decade for decade in decades for lead in leading]
        return tuple(
            Tick(self.at(value * label_divisor), _label(value))
            for value in values
            if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)
        )


def nice_step(step: float) -> float:
    """The next of 1, 2, 5 times a power of ten at or above ``step``."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(lead * power for lead in (1, 2, 5, 10) if lead * power >= step * (1 - 1e-9))


def from_zero(highest: float) -> Linear:
    """A linear axis from 0 to a little above ``highest``."""
    if highest <= 0:
        return Linear(0.0, 1.0)
    step = nice_step(highest * 1.04 / 5)
    return Linear(0.0, math.ceil(highest * 1.04 / step) * step)


def around(lowest: float, highest: float) -> Log:
    """A logarithmic axis with a little room on both sides."""
    return Log(lowest / 1.25, max(highest, lowest * 1.5) * 1.25)


def _label(value: float) -> str:
    return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
