"""How many threads compute, and how they wait.

OpenMP threads spin at barriers by default. On a machine that also runs the HTTP side, and often the load
generator, spinning takes the cores from those that have work, and steps grow from milliseconds to hundreds.
"""

from __future__ import annotations

import os
import sys

_PASSIVE = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0", "KMP_BLOCKTIME": "0"}


def prepare_threads() -> bool:
    """Make OpenMP threads sleep while they wait. Variables that are already set stay as they are.

    OpenMP reads them once, when torch is imported: call this first in the engine's process.

    Returns:
        Whether it was in time: False if torch was imported before.
    """
    for name, value in _PASSIVE.items():
        os.environ.setdefault(name, value)
    return "torch" not in sys.modules


def default_cpu_threads() -> int:
    """All cores of this process but one, which is left to the HTTP side; at least 1."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, available - 1)
