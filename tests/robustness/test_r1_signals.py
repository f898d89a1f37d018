"""R1: a run that is interrupted or killed leaves what it has measured."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from support.timetable_process import TimetableProcess

from harness.journal import read_journal
from reports.result import Verdict, load

if TYPE_CHECKING:
    from pathlib import Path

    from tests.robustness.conftest import Tokenpace, Write

LOAD = {"arrivals": "constant", "rate": 100, "requests": 5_000}
S = 1_000_000_000


def started(
    scenario: Path, url: str, folder: Path, has_begun: str = "checkpoint.json"
) -> subprocess.Popen[str]:
    """A run that has begun to send, or whose folder has the file named."""
    command = [
        sys.executable,
        "-m",
        "harness",
        "run",
        str(scenario),
        "--base-url",
        url,
        "--output",
        str(folder),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (folder / has_begun).exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.001)
    return process


def moments(num: int) -> list[float]:
    """Seconds after the first checkpoint, spread over the first 2.5, each at random in its part."""
    chance = random.Random(num)
    return [2.5 * (part + chance.random()) / num for part in range(num)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_R1_a_signal_as_soon_as_there_is_a_folder(
    number: signal.Signals, timetable: TimetableProcess, write: Write, tmp_path: Path
) -> None:
    """Hardly a request has been sent, if any; it is a run all the same."""
    process = started(write(LOAD), timetable.url, tmp_path / "run", "manifest.json")
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number, errors
    result = load(tmp_path / "run" / "result.json")
    assert result.interrupted == number.name
    assert result.num_requests <= sum(1 for _ in read_journal(tmp_path / "run" / "journal.jsonl"))


@pytest.mark.parametrize(("num", "max_exit_s"), [(3, 15.0), pytest.param(20, 5.0, marks=pytest.mark.soak)])
def test_R1_a_signal_at_any_moment_leaves_a_whole_partial_result(
    num: int, max_exit_s: float, timetable: TimetableProcess, write: Write, tmp_path: Path
) -> None:
    """Ended in time, flagged, readable, no file half written, the result's requests those of the journal."""
    scenario = write(LOAD)
    for at, delay_s in enumerate(moments(num)):
        number = (signal.SIGINT, signal.SIGTERM)[at % 2]
        folder = tmp_path / f"run-{at}"
        process = started(scenario, timetable.url, folder)
        time.sleep(delay_s)
        process.send_signal(number)
        begun_s = time.monotonic()
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 128 + number, errors
        assert time.monotonic() - begun_s < max_exit_s
        result = load(folder / "result.json")
        assert result.interrupted == number.name
        records = list(read_journal(folder / "journal.jsonl"))
        assert result.num_requests == len(records) == sum(result.outcomes.values())
        assert len({record.index for record in records}) == len(records)
        assert (folder / "report.html").stat().st_size > 10_000
        assert not list(folder.glob("*.tmp"))


def test_R1_a_second_signal_ends_it_at_once(
    timetable: TimetableProcess, write: Write, tmp_path: Path, tokenpace: Tokenpace
) -> None:
    folder = tmp_path / "run"
    process = started(write(LOAD), timetable.url, folder)
    time.sleep(1.5)
    begun_s = time.monotonic()
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)
    process.communicate()
    assert process.returncode in (128 + signal.SIGINT, -signal.SIGINT)
    assert time.monotonic() - begun_s < 5
    json.loads((folder / "checkpoint.json").read_bytes())
    assert tokenpace("report", folder, "-q").returncode in (Verdict.INVALID.exit_code, 128 + signal.SIGINT)
    assert load(folder / "result.json").num_requests > 0


def test_R1_a_kill_loses_at_most_the_last_second(write: Write, tmp_path: Path, tokenpace: Tokenpace) -> None:
    """Held against the server's own log, on the clock that both share."""
    with TimetableProcess("--ttft", "5ms", "--gap", "1ms") as server:
        process = started(write(LOAD), server.url, tmp_path / "run")
        time.sleep(2.5)
        killed_ns = time.monotonic_ns()
        process.kill()
        process.communicate()
        log = server.log(1)
    kept = {record.index for record in read_journal(tmp_path / "run" / "journal.jsonl")}
    ended = {
        int(line["request_id"].rpartition("-")[2]) for line in log if line["done_ns"] < killed_ns - 1.2 * S
    }
    assert len(ended) > 50
    assert ended - kept == set()
    assert tokenpace("report", tmp_path / "run", "-q").returncode == Verdict.INVALID.exit_code
    result = load(tmp_path / "run" / "result.json")
    assert result.num_requests == len(kept)
    assert "broken off" in result.notes[0]


def test_R1_a_kill_at_the_very_start_is_one_clear_message(
    timetable: TimetableProcess, write: Write, tmp_path: Path, tokenpace: Tokenpace
) -> None:
    folder = tmp_path / "run"
    process = started(write(LOAD), timetable.url, folder)
    process.kill()
    process.communicate()
    with contextlib.suppress(FileNotFoundError):
        (folder / "checkpoint.json").unlink()
    done = tokenpace("report", folder)
    assert "Traceback" not in done.stderr
    assert done.returncode in (2, 4)
