"""How many workers a run gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from harness.environment import num_cpus
from harness.errors import HarnessError
from harness.workers.shares import most_workers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scenarios.schedule import Schedule

AUTO: Final = "auto"
MAX_WORKERS: Final = 256

Asked: TypeAlias = int | str
"""A number of workers, or ``auto``: one for each CPU but one, which is left to everything else."""


class WorkersError(HarnessError, ValueError):
    """So many workers can't be had, or one of them can't be started."""


def crew_size(asked: Asked, schedule: Schedule, *, elsewhere: bool = False) -> tuple[int, tuple[str, ...]]:
    """The number of workers, and what a reader of the report must know of it.

    Args:
        asked: What was asked for.
        schedule: The load.
        elsewhere: Whether they needn't be on this machine.

    Raises:
        WorkersError: It isn't a number in range, nor ``auto``.
    """
    wanted = num_wanted(asked)
    size = min(wanted, most_workers(schedule) or wanted)
    return size, tuple(_notes(wanted, size, schedule, most=None if elsewhere else num_cpus()))


def num_wanted(asked: Asked) -> int:
    """How many were asked for, whatever the load has use for.

    Raises:
        WorkersError: It isn't a number in range, nor ``auto``.
    """
    if asked == AUTO:
        return max(1, num_cpus() - 1)
    text = str(asked)
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MAX_WORKERS):
        raise WorkersError(f"workers: {asked!r} can't be had; give 1 to {MAX_WORKERS}, or auto")
    return int(text)


def _notes(wanted: int, size: int, schedule: Schedule, *, most: int | None) -> Iterator[str]:
    if size < wanted:
        yield f"{_workers(size)} instead of {wanted}: the load has no more to do at a time"
    if size > 1:
        yield f"sent by {size} workers; times of the client's health are those of the worst of them"
    if most is not None and size > most:
        yield f"{size} workers share {most} CPUs, so they hold each other up: give --workers auto"
    if size > 1 and schedule.max_in_flight is not None:
        yield (
            f"the cap of {schedule.max_in_flight} requests in flight is shared out among the workers: a "
            "request may wait in one while another has room"
        )


def _workers(number: int) -> str:
    return "1 worker" if number == 1 else f"{number} workers"
