"""A fixed number of users, each of whom sends when the last answer is in."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from msgspec import structs
from pydantic import Field, model_validator

from scenarios.arrivals import Arrivals
from scenarios.durations import Duration
from scenarios.ranges import NumAtOnce
from scenarios.section import fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.random import Generator

    from scenarios.request import Arrival
    from scenarios.schedule import Schedule


class Closed(Arrivals):
    """A request is due when its slot becomes free: a slow server is asked less.

    Attributes:
        concurrency: Number of slots. No more are opened than there are requests.
        ramp: Time over which the slots are opened one after the other, so that the first prompts don't
            all meet in one burst.
    """

    concurrency: NumAtOnce = Field(examples=[8])
    ramp: Duration = 0

    @model_validator(mode="after")
    def _check_ramp(self) -> Closed:
        if self.duration is not None and self.ramp >= self.duration:
            raise fault("ramp must be shorter than duration")
        return self

    @model_validator(mode="after")
    def _check_saturation(self) -> Closed:
        if self.stop is not None and self.stop.saturation is not None:
            raise fault("stop.saturation belongs to open loops; a closed one sends a slow server less")
        return self

    @property
    def most_in_flight(self) -> int:
        """One for each slot."""
        return self.concurrency

    def due_ns(self, rng: Generator) -> Iterator[None]:  # noqa: ARG002 (nothing here is left to chance)
        """No times: the slots decide."""
        return itertools.repeat(None)

    def plan(self, arrivals: Iterator[Arrival], num_requests: int | None, notes: tuple[str, ...]) -> Schedule:
        """The schedule of ``arrivals`` under these limits, with its slots.

        Slots that would have no request are left out; the others open when they would have.
        """
        num_slots = min(self.concurrency, num_requests or self.concurrency)
        if num_slots < self.concurrency:
            few = f"{num_slots} slots are opened, as many as there are requests"
            notes = (*notes, f"concurrency {self.concurrency}, of which {few}")
        schedule = super().plan(arrivals, num_requests, notes)
        ramp_ns = self.ramp * num_slots // self.concurrency
        return structs.replace(schedule, concurrency=num_slots, ramp_ns=ramp_ns)
