"""The plan of a run: what is to be sent when. The only thing a driver sees of a scenario."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from scenarios.request import Arrival


class StopLimits(msgspec.Struct, frozen=True, kw_only=True):
    """When to end a run before its time.

    Attributes:
        error_share: More failures than this share of the requests that have ended; None for no limit.
        min_ended: So many must have ended before that counts.
        in_flight: So many requests in flight; None for no limit.
        saturation_after_ns: An open loop ends once it sends more than the server can do, which is looked for
            from so long after the start on; None not to look.
        decided: As soon as every objective is decided.
    """

    error_share: float | None = None
    min_ended: int = 1
    in_flight: int | None = None
    saturation_after_ns: int | None = None
    decided: bool = False

    @property
    def is_any(self) -> bool:
        """Whether there is a limit beyond which going on would teach nothing."""
        limits = (self.error_share, self.in_flight, self.saturation_after_ns)
        return any(limit is not None for limit in limits)


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """Arrivals in order, with the limits of the run.

    Attributes:
        arrivals: In order of index (and of ``due_ns`` in an open loop). Can be iterated once. Lazy: an
            endless closed loop has endless arrivals. Conversations (``Arrival.later``) go on beyond
            ``num_requests``: whoever sends them counts.
        loop: ``open`` (due times given) or ``closed`` (a fixed number of slots).
        concurrency: Closed loop: number of slots. None in an open loop.
        slots: Closed loop: which of them this is the plan of, where others have the rest; None for all.
        max_in_flight: Open loop: requests in flight at most; an arrival that must wait is late, and
            its response times count from its due time. None for no cap.
        ramp_ns: Closed loop: time over which the slots are opened one after the other.
        duration_ns: No request is sent later than this after the start. None for no limit by time.
        num_requests: Number of requests in all. None where only the duration ends the run.
        planned_rate: Open loop: mean arrivals per second as asked for.
        warmup_ns: Requests due earlier than this are sent and not measured.
        warmup_requests: The first so many requests are sent and not measured.
        auto_warmup: The end of warm-up is found from the run itself.
        cooldown_ns: Likewise for the end: the last part of ``duration_ns``.
        grace_ns: How long requests in flight may go on after the last arrival; then they are cut.
        stop: Limits that end the run early.
        notes: What a reader of the report must know about the plan: repeated prompts, units of length.
    """

    arrivals: Iterator[Arrival]
    loop: str
    concurrency: int | None = None
    slots: range | None = None
    max_in_flight: int | None = None
    ramp_ns: int = 0
    duration_ns: int | None = None
    num_requests: int | None = None
    planned_rate: float | None = None
    warmup_ns: int = 0
    warmup_requests: int = 0
    auto_warmup: bool = False
    cooldown_ns: int = 0
    grace_ns: int = 30_000_000_000
    stop: StopLimits = StopLimits()
    notes: tuple[str, ...] = ()
