"""A schedule in shares that are together the schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

if TYPE_CHECKING:
    from scenarios.schedule import Schedule


def share_of(schedule: Schedule, worker: int, num_workers: int) -> Schedule:
    """What one of several workers sends.

    A load has places: the slots of a closed loop, or what a cap leaves room for in flight; without either,
    one for each worker. Arrivals go to the places in turn and places to the workers in turn, so that no
    worker has more to send than room to send it. The turns of a conversation stay together. Limits that end
    a run early stay those of the whole.

    Args:
        schedule: The whole; its arrivals are consumed.
        worker: Which, from 0.
        num_workers: No more than ``most_workers`` says.
    """
    num_places = _num_places(schedule) or num_workers
    places = range(worker, num_places, num_workers)
    arrivals = (each for each in schedule.arrivals if each.partition_key % num_places in places)
    is_capped, is_closed = schedule.max_in_flight is not None, schedule.concurrency is not None
    return structs.replace(
        schedule,
        arrivals=arrivals,
        slots=places if is_closed else None,
        max_in_flight=len(places) if is_capped else None,
    )


def most_workers(schedule: Schedule) -> int | None:
    """How many can have something to do; None for any number."""
    limits = [limit for limit in (_num_places(schedule), schedule.num_requests) if limit is not None]
    return min(limits, default=None)


def _num_places(schedule: Schedule) -> int | None:
    return schedule.max_in_flight if schedule.concurrency is None else schedule.concurrency
