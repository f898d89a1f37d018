"""How long a user reads and thinks before the next turn of a conversation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_serializer, model_validator

from scenarios.durations import Duration, format_duration
from scenarios.section import Section, fault

if TYPE_CHECKING:
    from numpy.random import Generator

_REACH = 10
"""An exponential time without ``max`` is cut at so many means, as TPC-W does: one user in 22,000."""


class ThinkTimeSection(Section):
    """A time drawn for each turn. A plain duration in a scenario is a constant.

    Attributes:
        distribution: ``exponential`` (independent users; TPC-W's), ``lognormal`` (people who read: many short
            times, some very long ones) or ``uniform``.
        mean: Of the distribution before it is cut off; what lies beyond ``max`` is drawn again, not piled up.
        stdev: Of a lognormal one.
        min: Least time of a uniform one.
        max: Longest time; needed by a uniform one, ten means of an exponential one if left out.
    """

    distribution: Literal["constant", "exponential", "lognormal", "uniform"] = Field(examples=["exponential"])
    mean: Duration | None = None
    stdev: Duration | None = None
    min: Duration | None = None
    max: Duration | None = None

    @model_validator(mode="after")
    def _check_keys_of_kind(self) -> ThinkTimeSection:
        needed, possible = _KEYS[self.distribution]
        given = [key for key in ("mean", "stdev", "min", "max") if getattr(self, key) is not None]
        if missing := [key for key in needed if key not in given]:
            raise fault(f"{self.distribution} needs {' and '.join(missing)}")
        if extra := [key for key in given if key not in (*needed, *possible)]:
            raise fault(f"{extra[0]} has no meaning for {self.distribution}")
        return self

    @model_validator(mode="after")
    def _check_range(self) -> ThinkTimeSection:
        if self.distribution in ("exponential", "lognormal") and (self.mean == 0 or self.stdev == 0):
            raise fault("mean and stdev must be longer than 0; for no chance write a plain duration")
        low = self.min if self.distribution == "uniform" else self.mean
        if self.max is not None and low is not None and low > self.max:
            raise fault(f"max {format_duration(self.max)} is less than {format_duration(low)}")
        return self

    @model_serializer
    def _dump(self) -> str | dict[str, Any]:
        if self.distribution == "constant":
            return format_duration(self.mean or 0)
        times = {key: getattr(self, key) for key in ("mean", "stdev", "min", "max")}
        written = {key: format_duration(time) for key, time in times.items() if time is not None}
        return {"distribution": self.distribution, **written}

    def draw(self, rng: Generator) -> int:
        """One time in ns."""
        if self.distribution == "constant":
            return self.mean or 0
        if self.distribution == "uniform":
            return int(rng.integers(self.min or 0, self.max or 0, endpoint=True))
        most = self._most
        while (drawn := self._unbounded(rng)) > most:
            pass
        return round(drawn)

    @property
    def _most(self) -> float:
        if self.max is not None:
            return self.max
        return _REACH * (self.mean or 0) if self.distribution == "exponential" else math.inf

    def _unbounded(self, rng: Generator) -> float:
        mean = self.mean or 0
        if self.distribution == "exponential":
            return float(rng.exponential(mean))
        spread = math.log1p(((self.stdev or 0) / mean) ** 2)
        return float(rng.lognormal(math.log(mean) - spread / 2, math.sqrt(spread)))


_KEYS = {
    "constant": (("mean",), ()),
    "exponential": (("mean",), ("max",)),
    "lognormal": (("mean", "stdev"), ("max",)),
    "uniform": (("min", "max"), ()),
}
"""By distribution: keys that it needs, and that it can have besides."""


def _from_duration(value: object) -> object:
    if isinstance(value, dict | ThinkTimeSection):
        return value
    return {"distribution": "constant", "mean": value}


ThinkTime = Annotated[ThinkTimeSection, BeforeValidator(_from_duration)]
"""A scenario field written as a duration or a distribution."""
