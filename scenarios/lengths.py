"""Lengths of prompts and answers: a number, or a distribution of numbers."""

from __future__ import annotations

import functools
import sys
from statistics import NormalDist
from typing import TYPE_CHECKING, Annotated, Any, Final

from numpy.random import default_rng
from pydantic import BeforeValidator, Field, model_serializer, model_validator

from scenarios.section import Section, fault

if TYPE_CHECKING:
    from numpy.random import Generator


LONGEST: Final = 10_000_000
"""Longer than any context."""
_NUM_DRAWS: Final = 4_000


class Length(Section):
    """A whole number >= 1, drawn for each request.

    ``{mean, stdev}`` is a normal distribution cut off at ``min`` and ``max`` (what lies outside is not
    piled up at the ends, so uneven ends move the mean); ``{min, max}`` alone draws evenly between them,
    both included. A plain number N in a scenario is ``{mean: N}``.
    """

    mean: float | None = Field(None, ge=1, le=LONGEST)
    stdev: float = Field(0.0, ge=0, le=1e12)
    min: int = Field(1, ge=1, le=LONGEST)
    max: int | None = Field(None, le=LONGEST)

    @model_validator(mode="after")
    def _check(self) -> Length:
        if self.max is not None and self.max < self.min:
            raise fault(f"max {self.max} is less than min {self.min}")
        if self.mean is None and (self.max is None or self.stdev):
            raise fault("needs a mean, or a min and a max; for example {mean: 200, stdev: 50}")
        if self.mean is not None and not self.min <= self.mean <= (self.max or self.mean):
            raise fault(f"mean {self.mean:g} lies outside min and max")
        return self

    @model_serializer
    def _dump(self) -> int | dict[str, Any]:
        given = {"mean": self.mean, "stdev": self.stdev or None, "min": self.min, "max": self.max}
        return self.constant or {key: value for key, value in given.items() if value is not None}

    @property
    def constant(self) -> int | None:
        """The one length there is, None where it varies."""
        if self.mean is not None and self.stdev == 0:
            return round(self.mean)
        return self.min if self.mean is None and self.min == self.max else None

    @functools.cached_property
    def average(self) -> float:
        """The mean of what is drawn, which cut-off ends may move away from ``mean``."""
        if self.constant is not None:
            return self.constant
        rng = default_rng(0)
        return sum(self.draw(rng) for _ in range(_NUM_DRAWS)) / _NUM_DRAWS

    def draw(self, rng: Generator) -> int:
        """One length. Takes one number from ``rng``, or none where the length is constant."""
        if (constant := self.constant) is not None:
            return constant
        top = LONGEST if self.max is None else self.max
        if self.mean is None:
            return int(rng.integers(self.min, top, endpoint=True))
        normal = NormalDist(self.mean, self.stdev)
        share = rng.uniform(normal.cdf(self.min - 0.5), normal.cdf(top + 0.5))
        drawn = normal.inv_cdf(min(max(share, sys.float_info.min), 1 - sys.float_info.epsilon))
        return min(max(round(drawn), self.min), top)


def _from_number(value: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        if value > LONGEST:
            raise fault(f"must be at most {LONGEST}, not {value}")
        if not (value >= 1 and float(value).is_integer()):
            raise fault(f"must be a whole number of at least 1, or {{mean, stdev, min, max}}; not {value}")
        return {"mean": float(value)}
    if isinstance(value, dict | Length):
        return value
    raise fault(f"must be a whole number or {{mean, stdev, min, max}}, not {value!r}")


Lengths = Annotated[Length, BeforeValidator(_from_number)]
"""A scenario field written as a number or a distribution."""
