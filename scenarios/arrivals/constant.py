"""Evenly spaced arrivals."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from pydantic import Field

from scenarios.arrivals import OpenLoop
from scenarios.rates import Rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.random import Generator


class Constant(OpenLoop):
    """The first request at 0, then one every 1 / rate.

    Attributes:
        rate: Requests per second.
    """

    rate: Rate = Field(examples=["4", "300/m"])

    def due_ns(self, rng: Generator) -> Iterator[int]:  # noqa: ARG002 (nothing here is left to chance)
        """Each time from its own index, so that no error adds up."""
        return (round(index * 1e9 / self.rate) for index in itertools.count())

    @property
    def planned_rate(self) -> float:
        """As asked for."""
        return self.rate
