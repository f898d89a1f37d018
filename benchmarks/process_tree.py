"""A client's processes: started on a core, watched, and all ended in the end. Linux."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from benchmarks.cores import bind

_PR_SET_CHILD_SUBREAPER = 36
_EVERY_S = 0.2
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 1e6


class Usage(NamedTuple):
    """What a client and all its processes took.

    Attributes:
        exit_code: None if it took too long.
        wall_s: From start to end.
        cpu_s: Of all its processes, from the kernel's accounts of the ended ones.
        peak_mb: Resident, all together, at most; looked at five times a second.
        times_ns: When it was looked at.
        cpu_then_s: CPU time by then.
    """

    exit_code: int | None
    wall_s: float
    cpu_s: float
    peak_mb: float
    times_ns: list[int]
    cpu_then_s: list[float]

    def cpu_between(self, begin_ns: int, end_ns: int) -> float:
        """CPU seconds within a part of the run, by interpolation."""
        at = np.interp([begin_ns, end_ns], self.times_ns, self.cpu_then_s)
        return float(at[1] - at[0])


def run(
    command: list[str], variables: dict[str, str | None], core: int | None, output: Path, timeout_s: float
) -> Usage:
    """Run a client to its end.

    Args:
        command: What to start.
        variables: Set in its environment, or, with None, left out.
        core: For all its processes.
        output: A file for what it prints.
        timeout_s: Then it is killed.
    """
    _adopt_orphans()
    others = frozenset(_children(os.getpid()))
    before, begin_ns = _cpu_of_ended_children(), time.monotonic_ns()
    environment = {key: value for key, value in {**os.environ, **variables}.items() if value is not None}
    with output.open("wb") as file:
        process = subprocess.Popen(
            command,
            stdout=file,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=environment,
            process_group=0,
            preexec_fn=lambda: bind(0, core),
        )
    with _Watch(others) as watch:
        try:
            exit_code: int | None = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            exit_code = None
    _end_what_is_left(process, others)
    cpu_s, end_ns = _cpu_of_ended_children() - before, time.monotonic_ns()
    times, cpu = [begin_ns, *watch.times_ns, end_ns], [0.0, *watch.cpu_s, cpu_s]
    return Usage(exit_code, (end_ns - begin_ns) / 1e9, cpu_s, watch.peak_mb, times, cpu)


class _Watch:
    """Looks at this process's descendants now and then, from a thread.

    Args:
        others: Children that are not the client's.
    """

    def __init__(self, others: frozenset[int]) -> None:
        self._others = others
        self.times_ns: list[int] = []
        self.cpu_s: list[float] = []
        self.peak_mb = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look_again_and_again)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look_again_and_again(self) -> None:
        while not self._over.wait(_EVERY_S):
            self._look()

    def _look(self) -> None:
        pids, cpu_s, resident_mb = list({*_children(os.getpid())} - self._others), 0.0, 0.0
        for pid in pids:
            with suppress(OSError, IndexError):
                pids += _children(pid)
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                cpu_s += sum(map(int, fields[11:15])) / _TICKS_PER_S
                resident_mb += int(fields[21]) * _PAGE_MB
        self.times_ns.append(time.monotonic_ns())
        self.cpu_s.append(max(cpu_s, self.cpu_s[-1] if self.cpu_s else 0.0))
        self.peak_mb = max(self.peak_mb, resident_mb)


def _children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            found += [int(child) for child in (task / "children").read_text().split()]
    return found


def _adopt_orphans() -> None:
    """Processes whose parents end before them become children of this one, and are accounted for."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _end_what_is_left(process: subprocess.Popen[bytes], others: frozenset[int]) -> None:
    """Kill the client's group, then the orphans that left it, generation by generation, and wait for all."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    while orphans := {*_children(os.getpid())} - others:
        for pid in orphans:
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _cpu_of_ended_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
