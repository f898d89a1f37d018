"""Which core the server has, and which the client: the rest of the machine is out of play."""

from __future__ import annotations

import os
from typing import NamedTuple


class Cores(NamedTuple):
    """One each, as far as there are several; None where processes can't be bound."""

    server: int | None
    client: int | None


def choose_cores() -> Cores:
    """The first two that this process may use."""
    if not hasattr(os, "sched_getaffinity"):
        return Cores(None, None)
    usable = sorted(os.sched_getaffinity(0))
    return Cores(usable[0], usable[1 % len(usable)])


def bind(pid: int, core: int | None) -> None:
    """Let a process, and those it starts from now on, run on one core alone; 0 is this process."""
    if core is not None:
        os.sched_setaffinity(pid, {core})
