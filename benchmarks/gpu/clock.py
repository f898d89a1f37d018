"""Time on the device and around it."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

FLUSH_BYTES = 256 << 20  # more than any L2 holds


def device_us(work: Callable[[], object], repeats: int = 20, *, flush: bool = True) -> float:
    """Median microseconds of ``work`` by CUDA events; the L2 holds nothing of it before, with ``flush``."""
    for _ in range(3):
        work()
    scratch = torch.empty(FLUSH_BYTES if flush else 1, dtype=torch.int8, device="cuda")
    times = []
    for _ in range(repeats):
        scratch.zero_()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1000)
    return statistics.median(times)


def host_us(work: Callable[[], object], repeats: int) -> float:
    """Median microseconds of ``work``, which waits for the device by itself, on the host's clock."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append((time.perf_counter() - began) * 1e6)
    return statistics.median(times)
