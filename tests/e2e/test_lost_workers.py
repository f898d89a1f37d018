"""Workers that are killed, frozen, signalled or left without a server or a disk."""

from __future__ import annotations

import json
import signal
import time
from typing import TYPE_CHECKING

import psutil
import pytest
from support.tokenpace_command import FULL_AT_30_000_BYTES, start_tokenpace, tokenpace

from harness.journal import read_journal
from harness.result_folder import ResultFolder
from harness.workers.journals import journal_of, read_records
from reports.result import Verdict, load

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from support.timetable_process import TimetableProcess

S = 10**9
SCENARIO = """
schema: 1
name: shared
load: {arrivals: constant, rate: 100, requests: 6000}
prompts: {source: text, text: [one two three, four five]}
sampling: {max_tokens: 4}
thresholds:
  ttft: ["p95 < 5s"]
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "shared.yaml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture
def started(timetable: TimetableProcess, scenario: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A command with two workers in the middle of its load; its folder is ``r``."""
    folder = tmp_path / "r"
    arguments = ("--base-url", timetable.url, "--output", folder, "--workers", "2")
    process = start_tokenpace("run", scenario, *arguments, OPENAI_API_KEY="sk-canary-4711")
    deadline = time.monotonic() + 90
    journals = [journal_of(folder / "journal.jsonl", worker) for worker in range(2)]
    while not all(path.exists() and path.stat().st_size > 10_000 for path in journals):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield process
    if process.poll() is None:
        process.kill()
        process.communicate()


def workers_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Its workers, in order of the journals they write."""
    journals = {}
    for child in psutil.Process(process.pid).children():
        journals |= {file.path: child for file in child.open_files() if "journal-" in file.path}
    return [journals[path] for path in sorted(journals)]


def starting_workers_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Its workers, whether or not they have a journal yet. The compiler of the reader is a child too."""
    children = psutil.Process(process.pid).children()
    return [child for child in children if "harness.workers" in cmdline_of(child)]


def cmdline_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def wait_until_gone(workers: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(workers, timeout=15)
    assert alive == []


def test_a_killed_worker_is_named_and_the_run_invalid(started: subprocess.Popen[str], tmp_path: Path) -> None:
    """It ends soon; of the dead worker counts what its journal kept. A9-01: the key is on no command line."""
    workers = workers_of(started)
    assert not any("sk-canary" in word for worker in workers for word in worker.cmdline())
    kept = len(journal_of(tmp_path / "r" / "journal.jsonl", 1).read_bytes().splitlines())
    workers[1].kill()
    killed_s = time.monotonic()
    out, errors = started.communicate(timeout=30)
    assert time.monotonic() - killed_s < 20
    assert started.returncode == 4, errors
    assert "worker 2 of 2 was lost (killed by SIGKILL)" in out
    assert "Traceback" not in errors
    result = load(tmp_path / "r" / "result.json")
    assert result.verdict is Verdict.INVALID
    assert any("worker 2 of 2 was lost" in cause for cause in result.causes)
    assert not any("were sent where" in cause for cause in result.causes)
    records = list(read_records(tmp_path / "r" / "journal.jsonl"))
    assert result.num_requests == len(records)
    assert sum(each.index % 2 == 1 for each in records) >= kept - 1
    assert {path.name for path in (tmp_path / "r").glob("journal*")} == {"journal.jsonl"}
    assert report_again(tmp_path / "r") == 4
    wait_until_gone(workers)


def report_again(folder: Path) -> int:
    """Exit code of ``tokenpace report``, which must change no file."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = tokenpace("report", folder, "-q")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    return done.returncode


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_R1_a_signal_leaves_a_whole_partial_result(
    started: subprocess.Popen[str], tmp_path: Path, number: signal.Signals, code: int
) -> None:
    """As from a terminal or a service manager: all processes of the run get it."""
    workers = workers_of(started)
    for worker in workers:
        worker.send_signal(number)
    started.send_signal(number)
    told_s = time.monotonic()
    _, errors = started.communicate(timeout=30)
    assert time.monotonic() - told_s < 15
    assert started.returncode == code, errors
    result = load(tmp_path / "r" / "result.json")
    assert result.interrupted == number.name
    assert not any("lost" in cause for cause in result.causes)
    assert result.num_requests == sum(1 for _ in read_records(tmp_path / "r" / "journal.jsonl"))
    assert not list((tmp_path / "r").glob("*.tmp"))
    assert report_again(tmp_path / "r") == code
    wait_until_gone(workers)


@pytest.mark.parametrize("everything", [True, False])
def test_R1_what_was_killed_is_reported_from_the_workers_journals(
    started: subprocess.Popen[str], tmp_path: Path, *, everything: bool
) -> None:
    """At most the last second is lost; workers whose run was killed end by themselves."""
    workers, folder = workers_of(started), ResultFolder(tmp_path / "r")
    killed_ns = time.monotonic_ns() - folder.checkpoint().started_ns
    for process in (*workers, started) if everything else (started,):
        process.kill()
    started.communicate()
    wait_until_gone(workers)
    for worker in range(2):
        ends = [record.done_ns for record in read_journal(journal_of(folder.journal_path, worker))]
        assert max(ends) > killed_ns - 1.5 * S
    records = list(read_records(folder.journal_path))
    assert max(record.sent_ns or 0 for record in records) < killed_ns + 5 * S
    done = tokenpace("report", folder.path)
    result = load(folder.result_path)
    assert done.returncode == result.exit_code == 4
    assert result.num_requests == len(records) > 30
    assert "broken off" in result.notes[0]


def test_a_frozen_worker_does_not_hold_up_the_end(started: subprocess.Popen[str], tmp_path: Path) -> None:
    """Stopped, it hears nothing; told to end, it is killed in time and counts as lost."""
    frozen = workers_of(started)[0]
    frozen.suspend()
    started.send_signal(signal.SIGINT)
    started.communicate(timeout=40)
    assert started.returncode == 130
    result = load(tmp_path / "r" / "result.json")
    assert any("worker 1 of 2 was lost (killed by SIGKILL)" in cause for cause in result.causes)
    wait_until_gone([frozen])


def test_R2_a_full_disk_keeps_what_was_measured(
    timetable: TimetableProcess, scenario: Path, tmp_path: Path
) -> None:
    """One message, the summary all the same, and every line of the workers' journals whole."""
    folder = tmp_path / "r"
    arguments = ("run", scenario, "--base-url", timetable.url, "--output", folder, "--workers", "2")
    done = tokenpace(*arguments, code=FULL_AT_30_000_BYTES)
    assert done.returncode == 4, done.stderr
    assert "cannot be written" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert "Metrics" in done.stdout
    records = list(read_records(folder / "journal.jsonl"))
    assert len(records) > 40
    for path in folder.glob("journal*"):
        assert all(json.loads(line) for line in path.read_bytes().splitlines())


def test_R1_a_signal_while_workers_start_ends_the_run(
    timetable: TimetableProcess, scenario: Path, tmp_path: Path
) -> None:
    """Nobody is waited for, nothing is left behind, and the folder says what it holds: nothing."""
    folder = tmp_path / "r"
    arguments = ("run", scenario, "--base-url", timetable.url, "--output", folder, "--workers", "2")
    process = start_tokenpace(*arguments)
    deadline = time.monotonic() + 60
    while not (workers := starting_workers_of(process)):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    assert load(folder / "result.json").num_requests == 0
    assert {path.name for path in folder.glob("journal*")} == {"journal.jsonl"}
    wait_until_gone(workers)
