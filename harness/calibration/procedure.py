"""How a machine is calibrated: loads of growing size, each run twice."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Final

from harness.calibration.calibration import Calibration
from harness.calibration.level import Level, level
from harness.calibration.load import GAP, TTFT, measure
from harness.calibration.timetable import Timetable
from harness.environment import environment
from harness.version import __version__
from harness.wall_clock import now_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

STREAMS: Final = (1, 16, 64, 256, 512, 1_000)
QUICK_STREAMS: Final = (1, 16, 64)
DEFAULT_LIMIT_NS: Final = 10_000_000
_ROUNDS: Final = 5
_QUICK_ROUNDS: Final = 3
_HOPELESS: Final = 2
"""So many levels in a row without trust end the calibration."""


def calibrate(
    *,
    quick: bool = False,
    workers: int = 1,
    limit_ns: int = DEFAULT_LIMIT_NS,
    on_level: Callable[[Level], None] | None = None,
) -> Calibration:
    """Measure this machine. The server gets a core of its own where there are two.

    Args:
        quick: Three small levels only.
        workers: Processes that send the load.
        limit_ns: The largest bound that is of use.
        on_level: Called with each level as it is done.

    Raises:
        HarnessError: The server can't be started, or a load can't be run.
    """
    streams = QUICK_STREAMS if quick else STREAMS
    rounds = _QUICK_ROUNDS if quick else _ROUNDS
    machine = environment()
    with _apart() as cores, Timetable("--ttft", TTFT, "--gap", GAP, cores=cores) as server:
        levels = []
        for each in _levels(server, streams, rounds, workers, limit_ns):
            levels.append(each)
            if on_level is not None:
                on_level(each)
    return Calibration(
        tool_version=__version__,
        made_at=now_text(),
        machine=machine,
        workers=workers,
        limit_ns=limit_ns,
        levels=tuple(levels),
    )


def _levels(
    server: Timetable, streams: Sequence[int], rounds: int, workers: int, limit_ns: int
) -> Iterator[Level]:
    num_failed = 0
    for number in streams:
        stating, fresh = (measure(server, number, rounds, workers) for _ in range(2))
        found = level(number, stating, fresh, limit_ns)
        yield found
        num_failed = 0 if found.trusted else num_failed + 1
        if num_failed == _HOPELESS:
            return


@contextlib.contextmanager
def _apart() -> Iterator[frozenset[int] | None]:
    """Keep this process off one core while the block runs: the server's. None where there is but one."""
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    if len(cores) < 2:
        yield None
        return
    servers = min(cores)
    os.sched_setaffinity(0, cores - {servers})
    try:
        yield frozenset({servers})
    finally:
        os.sched_setaffinity(0, cores)
