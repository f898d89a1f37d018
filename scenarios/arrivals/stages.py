"""Rates that change over time: steps and ramps."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from scenarios.arrivals import OpenLoop
from scenarios.durations import Duration
from scenarios.rates import Rate
from scenarios.section import Section

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.random import Generator


class Stage(Section):
    """A part of the run.

    Attributes:
        rate: Requests per second at its beginning.
        to: Requests per second at its end, reached in a straight line; the same as ``rate`` if left out.
        duration: How long it is.
    """

    rate: Rate = Field(examples=[4])
    to: Rate | None = None
    duration: Duration = Field(gt=0, examples=["30s"])

    @property
    def slope(self) -> float:
        """Change of the rate per second."""
        return ((self.to or self.rate) - self.rate) / (self.duration / 1e9)

    def num_expected(self, time_ns: int) -> float:
        """Requests in the first ``time_ns`` of this stage, on average."""
        time_s = min(time_ns, self.duration) / 1e9
        return self.rate * time_s + self.slope * time_s**2 / 2

    def when_ns(self, number: float) -> float:
        """Time in this stage at which ``number`` requests are expected to have come, 0 <= number."""
        root = math.sqrt(max(self.rate**2 + 2 * self.slope * number, 0.0))
        return 2e9 * number / (self.rate + root)


class Stages(OpenLoop):
    """One stage after the other; the run ends with the last.

    Attributes:
        stages: At least one.
        spacing: ``poisson``: independent arrivals whose rate changes. ``even``: no chance.
    """

    stages: tuple[Stage, ...] = Field(
        strict=False,
        min_length=1,
        examples=["[{rate: 20, duration: 1m}, {rate: 20, to: 40, duration: 1m}]"],
    )
    spacing: Literal["poisson", "even"] = "poisson"

    def due_ns(self, rng: Generator) -> Iterator[int]:
        """A process of rate 1, its times mapped to where the stages expect as many requests."""
        numbers = self._numbers(rng)
        number = next(numbers)
        start_ns, already = 0, 0.0
        for stage in self.stages:
            until = already + stage.num_expected(stage.duration)
            while number < until:
                yield start_ns + round(stage.when_ns(number - already))
                number = next(numbers)
            start_ns, already = start_ns + stage.duration, until

    def _numbers(self, rng: Generator) -> Iterator[float]:
        if self.spacing == "even":
            return map(float, itertools.count())
        return itertools.accumulate(rng.exponential() for _ in itertools.count())

    @property
    def end_ns(self) -> int:
        """The end of the last stage, or ``duration`` if that is earlier."""
        total = sum(stage.duration for stage in self.stages)
        return total if self.duration is None else min(self.duration, total)

    @property
    def planned_rate(self) -> float:
        """The mean until the end."""
        left_ns, expected = self.end_ns, 0.0
        for stage in self.stages:
            expected += stage.num_expected(left_ns)
            left_ns -= min(left_ns, stage.duration)
        return expected / self.end_ns * 1e9
