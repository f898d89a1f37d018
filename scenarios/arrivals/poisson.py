"""Arrivals of many users who know nothing of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from scenarios.arrivals import OpenLoop
from scenarios.rates import Rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.random import Generator


class Poisson(OpenLoop):
    """Exponential gaps, never rescaled: the number of arrivals in a duration varies, as it does in life.

    Attributes:
        rate: Mean requests per second.
    """

    rate: Rate = Field(examples=["4", "300/m"])

    def due_ns(self, rng: Generator) -> Iterator[int]:
        """The first arrival comes after a gap like any other."""
        mean_ns, due = 1e9 / self.rate, 0.0
        while True:
            due += rng.exponential(mean_ns)
            yield round(due)

    @property
    def planned_rate(self) -> float:
        """As asked for."""
        return self.rate
