"""Runs that a signal, a kill or a full disk ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from support.tokenpace_command import FULL_AT_30_000_BYTES, start_tokenpace, tokenpace

from harness.journal import read_journal
from reports.result import load

if TYPE_CHECKING:
    from pathlib import Path

    from support.timetable_process import TimetableProcess


def _started(
    scenario: Path, url: str, folder: Path, terminal: int = subprocess.PIPE
) -> subprocess.Popen[str]:
    long = ("--set", "load.rate=50", "--set", "load.requests=5000")
    process = start_tokenpace(
        "run", scenario, "--base-url", url, "--output", folder, *long, terminal=terminal
    )
    deadline = time.monotonic() + 60
    journal = folder / "journal.jsonl"
    while not (journal.exists() and journal.stat().st_size > 20_000):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return process


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_leaves_a_whole_partial_result(
    timetable: TimetableProcess, scenario: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    folder = tmp_path / "r"
    process = _started(scenario, timetable.url, folder)
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == code
    result = load(folder / "result.json")
    assert result.interrupted == number.name
    assert result.num_requests == sum(1 for _ in read_journal(folder / "journal.jsonl"))
    assert "interrupted" in result.notes[0]


def test_a_closed_terminal_leaves_a_whole_partial_result(
    timetable: TimetableProcess, scenario: Path, tmp_path: Path
) -> None:
    """What it is still to print breaks nothing, nor does the second SIGHUP, from a shell."""
    folder = tmp_path / "r"
    master, terminal = os.openpty()
    process = _started(scenario, timetable.url, folder, terminal)
    os.close(terminal)
    os.close(master)
    for _ in range(2):
        process.send_signal(signal.SIGHUP)
        time.sleep(0.05)
    process.communicate(timeout=30)
    assert process.returncode == 129
    assert load(folder / "result.json").interrupted == "SIGHUP"
    assert (folder / "report.html").is_file()


def test_a_killed_run_is_reported_from_its_journal(
    timetable: TimetableProcess, scenario: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "r"
    process = _started(scenario, timetable.url, folder)
    process.kill()
    process.communicate(timeout=30)
    done = tokenpace("report", folder)
    result = load(folder / "result.json")
    assert done.returncode == result.exit_code == 4
    assert result.num_requests == sum(1 for _ in read_journal(folder / "journal.jsonl")) > 20
    assert "broken off" in result.notes[0]


def test_a_full_disk_keeps_what_was_measured(
    timetable: TimetableProcess, scenario: Path, tmp_path: Path
) -> None:
    """One clear message, the summary all the same, and every line of the journal whole."""
    folder = tmp_path / "r"
    where = ("--base-url", timetable.url, "--output", folder)
    done = tokenpace("run", scenario, *where, code=FULL_AT_30_000_BYTES)
    assert done.returncode == 4, done.stderr
    assert done.stderr.splitlines()[-1].startswith(f"tokenpace: {folder}/journal.jsonl: cannot be written")
    assert "Traceback" not in done.stderr
    assert "Metrics" in done.stdout
    assert sum(1 for _ in read_journal(folder / "journal.jsonl")) > 20


@pytest.mark.parametrize("delay_s", [0.3, 0.9])
def test_an_interrupt_before_the_load_is_no_missed_objective(
    scenario: Path, tmp_path: Path, delay_s: float
) -> None:
    """B1-03: 130, never the code of FAIL, wherever the signal falls."""
    silent = socket.create_server(("127.0.0.1", 0))
    address = f"127.0.0.1:{silent.getsockname()[1]}"
    process = start_tokenpace("run", scenario, "--base-url", address, "--output", tmp_path / "r")
    time.sleep(delay_s)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    silent.close()
    assert process.returncode in (130, -signal.SIGINT), errors
