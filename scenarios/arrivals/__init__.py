"""When requests are sent.

An arrival process is one file of this folder. Its name is the value of ``load.arrivals`` in a scenario;
its keys stand beside it in ``load``. The file holds one subclass of ``OpenLoop`` (or, for a loop that is
closed, of ``Arrivals``) and gives it one method::

    class Every(OpenLoop):
        gap: Duration

        def due_ns(self, rng: Generator) -> Iterator[int]:
            return itertools.count(0, self.gap)

        @property
        def planned_rate(self) -> float:
            return 1e9 / self.gap

The base cuts the process at ``duration`` and ``requests``. A process that ends by itself needs neither:
one that knows its own length in time overrides ``end_ns``, one that knows its number ``num_requests``.
All chance comes from ``rng``: same seed, same times.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Annotated

from msgspec import structs
from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from scenarios.cancellation import Cancellation
from scenarios.durations import Duration, format_duration
from scenarios.kinds import Kinds
from scenarios.ranges import MAX_REQUESTS, NumAtOnce, NumRequests
from scenarios.schedule import Schedule, StopLimits
from scenarios.section import Section, fault
from scenarios.stop import DEFAULT_AFTER, Stop
from scenarios.think_time import ThinkTime
from scenarios.warm_up import AUTO, WarmUp

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.random import Generator

    from scenarios.request import Arrival


class Arrivals(Section, ABC):
    """The keys that every load has.

    What arrives is a request, or the first turn of a conversation; its later turns follow their answers.

    Attributes:
        arrivals: Name of the process.
        duration: Nothing is sent later than this after the start.
        requests: Number of requests in all. With both, whichever comes first ends the run.
        warmup: Requests due earlier are sent and not measured. ``auto`` finds from the run itself when its
            times had become steady.
        warmup_requests: The first so many are sent and not measured.
        cooldown: Requests due in this last part of ``duration`` are sent and not measured.
        grace: How long requests in flight may go on after the last arrival before they are cut.
        cancel: Some requests are given up on purpose.
        think_time: From the end of an answer to the next turn of its conversation. Wins over the times that a
            data set has; without either the next turn is due at once.
        stop: What ends the run early.
    """

    arrivals: str
    duration: Duration | None = None
    requests: NumRequests | None = None
    warmup: WarmUp = 0
    warmup_requests: int = Field(0, ge=0, le=MAX_REQUESTS)
    cooldown: Duration = 0
    grace: Duration = 30_000_000_000
    cancel: Cancellation | None = None
    think_time: ThinkTime | None = None
    stop: Stop | None = None

    @abstractmethod
    def due_ns(self, rng: Generator) -> Iterator[int | None]:
        """Due times in ns after the start, ascending; None for "when a slot is free"."""

    @property
    def end_ns(self) -> int | None:
        """When the last request may be sent; None for no limit by time."""
        return self.duration

    @property
    def num_requests(self) -> int | None:
        """Number of requests; None where only the time ends the run."""
        return self.requests

    @property
    def warmup_ns(self) -> int:
        """The part of the warm-up that is known before the run."""
        return 0 if self.warmup == AUTO else self.warmup

    @property
    def most_in_flight(self) -> int | None:
        """Requests in flight at most; None for no cap."""
        return None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the report must know about the times."""
        return ()

    @model_validator(mode="after")
    def _check_limits(self) -> Arrivals:
        if self.duration == 0:
            raise fault("duration must be longer than 0")
        if self.end_ns is None and self.num_requests is None:
            raise fault("has no end; give duration: 30s, or requests: 100, or both")
        if self.cooldown and self.end_ns is None:
            raise fault("cooldown is the last part of duration; give a duration too")
        if self.end_ns is not None and self.warmup_ns + self.cooldown >= self.end_ns:
            unmeasured = format_duration(self.warmup_ns + self.cooldown)
            raise fault(f"warmup and cooldown ({unmeasured}) leave nothing of duration to measure")
        return self

    @model_validator(mode="after")
    def _check_warmup(self) -> Arrivals:
        if self.warmup and self.warmup_requests:
            raise fault("warmup and warmup_requests both end the warm-up; give one of them")
        if self.num_requests is not None and self.warmup_requests >= self.num_requests:
            raise fault(f"warmup_requests takes all {self.num_requests} requests; nothing is measured")
        return self

    @model_validator(mode="after")
    def _check_stop(self) -> Arrivals:
        limit, cap = self.stop.in_flight if self.stop else None, self.most_in_flight
        if limit is not None and cap is not None and limit > cap:
            raise fault(f"stop.in_flight {limit} is never reached: no more than {cap} are in flight")
        if self.stop and self.stop.decided and (self.warmup == AUTO or self.warmup_requests):
            raise fault("stop.decided looks while the run goes on: give the warm-up a length, warmup: 30s")
        return self

    def cancels(self, rng: Generator) -> Iterator[int | None]:
        """For each request how long after its sending it is given up, ns; None for never."""
        return itertools.repeat(None) if self.cancel is None else self.cancel.delays(rng)

    def think_times(self, rng: Generator) -> Iterator[int | None]:
        """For each later turn its think time, ns; None for that of the data set."""
        while True:
            yield None if self.think_time is None else self.think_time.draw(rng)

    def times(self, rng: Generator) -> Iterator[int | None]:
        """Due times up to the limits."""
        end = self.end_ns
        due = itertools.takewhile(lambda at: at is None or end is None or at < end, self.due_ns(rng))
        return itertools.islice(due, self.requests)

    def plan(self, arrivals: Iterator[Arrival], num_requests: int | None, notes: tuple[str, ...]) -> Schedule:
        """The schedule of ``arrivals`` under these limits."""
        return Schedule(
            arrivals=arrivals,
            loop="closed",
            duration_ns=self.end_ns,
            num_requests=num_requests,
            warmup_ns=self.warmup_ns,
            warmup_requests=self.warmup_requests,
            auto_warmup=self.warmup == AUTO,
            cooldown_ns=self.cooldown,
            grace_ns=self.grace,
            stop=_limits(self.stop),
            notes=tuple(dict.fromkeys((*self.notes, *notes))),
        )


class OpenLoop(Arrivals):
    """Arrivals that don't wait for answers.

    Attributes:
        max_in_flight: Requests in flight at most. An arrival that must wait stays due when it was due.
    """

    max_in_flight: NumAtOnce | None = None

    @abstractmethod
    def due_ns(self, rng: Generator) -> Iterator[int]:
        """Due times in ns after the start, ascending."""

    @property
    @abstractmethod
    def planned_rate(self) -> float:
        """Mean arrivals per second as asked for."""

    @property
    def most_in_flight(self) -> int | None:
        """The cap."""
        return self.max_in_flight

    @model_validator(mode="after")
    def _check_measured(self) -> OpenLoop:
        unmeasured = self.planned_rate * self.warmup_ns / 1e9
        if self.num_requests is not None and self.num_requests - unmeasured < 1:
            raise fault(f"warmup lasts as long as all {self.num_requests} requests; nothing is measured")
        if self.end_ns is not None:
            measured = self.end_ns - self.warmup_ns - self.cooldown
            if self.planned_rate * measured < 1e9:
                length = format_duration(measured)
                raise fault(f"less than one request falls into the {length} that are measured")
        return self

    def plan(self, arrivals: Iterator[Arrival], num_requests: int | None, notes: tuple[str, ...]) -> Schedule:
        """The schedule of ``arrivals`` under these limits, with due times."""
        schedule = super().plan(arrivals, num_requests, notes)
        return structs.replace(
            schedule, loop="open", max_in_flight=self.max_in_flight, planned_rate=self.planned_rate
        )


def _limits(stop: Stop | None) -> StopLimits:
    if stop is None:
        return StopLimits()
    min_ended = stop.after or DEFAULT_AFTER
    return StopLimits(
        error_share=stop.error_share,
        min_ended=min_ended,
        in_flight=stop.in_flight,
        saturation_after_ns=stop.saturation,
        decided=stop.decided,
    )


kinds: Kinds[Arrivals] = Kinds(__name__, "arrivals", Arrivals)  # type: ignore[type-abstract]  # only its subclasses are made

Load = Annotated[SerializeAsAny[Arrivals], BeforeValidator(kinds.build)]
"""The ``load`` section of a scenario."""
