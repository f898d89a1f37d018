"""R8: a thousand streams at a time, a thousand requests a second, a million records."""

from __future__ import annotations

import json
import os
import resource
import time
from typing import TYPE_CHECKING

import msgspec
import pytest
from support.timetable_process import TimetableProcess

from harness.journal import read_journal
from harness.record import Outcome, Record, TokenSource
from reports.result import load

if TYPE_CHECKING:
    from pathlib import Path

    from tests.robustness.conftest import Perform, Tokenpace, Write

MS = 1_000_000
MAX_MIB = 1_024
MEASURED = """
import atexit, sys
peak = lambda: next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
atexit.register(lambda: print("peak", int(peak().split()[1]) // 1024, "MiB", file=sys.stderr))
from harness.cli import main
main()
"""
TRIES = 3


@pytest.mark.parametrize(
    ("rate", "seconds", "late_share"),
    [(150, 3, 0.5), pytest.param(1_000, 10, 0.01, marks=pytest.mark.soak)],
)
def test_R8_many_streams_and_requests(
    rate: int, seconds: int, late_share: float, write: Write, tmp_path: Path, tokenpace: Tokenpace
) -> None:
    """Each request takes 1 s, so as many are open as are sent in one. Late is 5 ms; three tries."""
    scenario = write({"arrivals": "constant", "rate": rate, "requests": rate * seconds}, tokens=2)
    found = []
    for attempt in range(TRIES):
        folder = tmp_path / f"run-{attempt}"
        with TimetableProcess("--ttft", "990ms", "--gap", "10ms") as server:
            arguments = ("run", scenario, "--base-url", server.url, "--output", folder, "-q")
            done = tokenpace(*arguments, code=MEASURED)
        assert done.returncode in (0, 4), done.stderr  # 4: too late altogether, and it says so
        assert int(done.stderr.rpartition("peak ")[2].split()[0]) < MAX_MIB
        result = load(folder / "result.json")
        assert result.outcomes == {"ok": rate * seconds}
        assert max(point.in_flight for point in result.timeline) >= 0.9 * rate
        lags = [(r.sent_ns or 0) - r.due_ns - r.connect_ns for r in read_journal(folder / "journal.jsonl")]
        found.append(sum(lag > 5 * MS for lag in lags) / len(lags))
        if found[-1] <= late_share:
            return
    raise AssertionError(f"sent more than 5 ms late: {found}")


def _write_journal(path: Path, num: int) -> None:
    with path.open("wb") as journal:
        for index in range(num):
            at_ns = index * MS
            record = Record(
                index=index,
                due_ns=at_ns,
                sent_ns=at_ns + 5_000,
                headers_ns=at_ns + 9_000,
                chunk_ns=[at_ns + (100 + 10 * chunk) * MS for chunk in range(8)],
                chunk_tokens=[1] * 8,
                answer_index=0,
                done_ns=at_ns + 171 * MS,
                outcome=Outcome.OK,
                status=200,
                finish_reason="length",
                prompt_tokens=8,
                output_tokens=8,
                usage_tokens=8,
                token_source=TokenSource.USAGE,
            )
            journal.write(msgspec.json.encode(record) + b"\n")


@pytest.mark.parametrize("num", [20_000, pytest.param(1_000_000, marks=pytest.mark.soak)])
def test_R8_a_million_records_are_reported_in_a_minute(
    num: int, timetable: TimetableProcess, perform: Perform, tokenpace: Tokenpace
) -> None:
    """A minute of as many CPUs as there are; a share of them takes its share, and ten seconds to start."""
    done = perform(timetable.url, {"arrivals": "constant", "rate": 1_000, "requests": 5}, model=None)
    folder = done.folder.path
    _write_journal(folder / "journal.jsonl", num)
    checkpoint = json.loads((folder / "checkpoint.json").read_bytes())
    checkpoint |= {"elapsed_ns": (num + 200) * MS, "num_records": num}
    (folder / "checkpoint.json").write_text(json.dumps(checkpoint))
    begun_s, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    reported = tokenpace("report", folder, "-q", code=MEASURED)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall_s = time.monotonic() - begun_s
    assert reported.returncode == 0, reported.stderr
    assert load(folder / "result.json").num_requests == num
    assert int(reported.stderr.rpartition("peak ")[2].split()[0]) < MAX_MIB
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    assert cpu_s < 60 * cpus * num / 1_000_000 + 10
    if num == 1_000_000:
        assert wall_s < 60, cpu_s
