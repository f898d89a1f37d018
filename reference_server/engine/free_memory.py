"""How much memory this process may still take, of the machine's or of its container's."""

from __future__ import annotations

from pathlib import Path

_UNKNOWN_BYTES = 4 << 30
_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")


def free_memory_bytes(meminfo: Path = _MEMINFO, cgroup: Path = _CGROUP) -> int:
    """Bytes; page cache that can be dropped counts as free. 4 GiB where nobody tells (not Linux)."""
    told = [size for size in (_of_machine(meminfo), _of_container(cgroup)) if size is not None]
    return min(told, default=_UNKNOWN_BYTES)


def _of_machine(meminfo: Path) -> int | None:
    try:
        lines = meminfo.read_text().splitlines()
    except OSError:
        return None
    sizes = [int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    return sizes[0] * 1024 if sizes else None


def _of_container(cgroup: Path) -> int | None:
    """What is left of the limit of control groups, version 2; None without a limit."""
    try:
        limit, used, stat = ((cgroup / f"memory.{name}").read_text() for name in ("max", "current", "stat"))
    except OSError:
        return None
    if limit.strip() == "max":
        return None
    page_cache = sum(
        int(line.split()[1])
        for line in stat.splitlines()
        if line.startswith(("active_file ", "inactive_file "))
    )
    return max(0, int(limit) - max(0, int(used) - page_cache))
