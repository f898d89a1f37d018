"""What this machine does at best: reading memory, multiplying matrices. Measured in about a second."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

_READ_BYTES = 1 << 28
_SIDE = 1024
_TRIES = 5


@dataclass(frozen=True)
class Machine:
    """Rates with a number of threads.

    Attributes:
        threads: That compute.
        read_rate: Bytes per second from memory, one stream for each thread.
        bfloat16_rate: Operations per second of a large matrix product, two for each multiply-add.
        int8_rate: The same in 8 bits.
    """

    threads: int
    read_rate: float
    bfloat16_rate: float
    int8_rate: float


def calibrate(threads: int) -> Machine:
    """Measure with so many threads; best of five."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        memory = torch.ones(_READ_BYTES // 4)
        wide = torch.randn(_SIDE, _SIDE).bfloat16()
        narrow = torch.randint(-100, 100, (_SIDE, _SIDE), dtype=torch.int8)
        operations = 2 * _SIDE**3
        return Machine(
            threads,
            _READ_BYTES / _best_s(memory.sum),
            operations / _best_s(lambda: wide @ wide),
            operations / _best_s(lambda: torch._int_mm(narrow, narrow)),  # noqa: SLF001  # torch has no public product of int8
        )
    finally:
        torch.set_num_threads(before)


def _best_s(work: Callable[[], object]) -> float:
    times = []
    for _ in range(_TRIES):
        begin_ns = time.perf_counter_ns()
        work()
        times.append(time.perf_counter_ns() - begin_ns)
    return min(times) / 1e9
