"""Arrivals in bursts, or steadier than chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from scenarios.arrivals import OpenLoop
from scenarios.rates import Rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.random import Generator


class Gamma(OpenLoop):
    """Gamma-distributed gaps of the same mean whatever the burstiness.

    Attributes:
        rate: Mean requests per second.
        burstiness: Shape of the distribution, vLLM's word: the gaps' coefficient of variation is
            1 / sqrt(burstiness). Below 1 comes in bursts, 1 is Poisson, above 1 is steadier; evenly spaced
            is ``arrivals: constant``.
    """

    rate: Rate = Field(examples=["4", "300/m"])
    burstiness: float = Field(ge=1e-4, le=1e6, examples=[0.25])

    def due_ns(self, rng: Generator) -> Iterator[int]:
        """The first arrival comes after a gap like any other."""
        scale_ns, due = 1e9 / self.rate / self.burstiness, 0.0
        while True:
            due += rng.gamma(self.burstiness, scale_ns)
            yield round(due)

    @property
    def planned_rate(self) -> float:
        """As asked for."""
        return self.rate
