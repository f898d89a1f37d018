"""What a result was made with and on: facts for the reader of a report."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

PACKAGES: Final = ("tokenpace", "aiohttp", "hdrhistogram", "msgspec", "numpy", "scipy", "uvloop")


def environment() -> dict[str, Any]:
    """Python, platform, CPU, load average and packages, as plain data."""
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": platform.platform(),
        "cpu": _cpu_model(),
        "num_cpus": num_cpus(),
        "load_average": [round(load, 2) for load in os.getloadavg()],
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
    }


def num_cpus() -> int:
    """The CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
