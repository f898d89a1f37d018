"""``tokenpace capacity`` and ``tokenpace sweep`` as a user calls them; the server's limit is known."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from support.timetable_process import TimetableProcess

from reports.capacity.search import End, load
from reports.result import Verdict
from reports.result import load as load_result
from reports.sweep.table import load as load_sweep

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PLACES = 4
SCRIPT = ("--ttft", "150ms", "--ttft-distribution", "lognormal", "--sigma", "0.15", "--gap", "1ms")
SCENARIO = """
schema: 1
name: knee
load: {arrivals: closed, concurrency: 2, requests: 30}
prompts: {source: text, text: [one two three]}
sampling: {max_tokens: 2}
thresholds:
  ttft: ["p90 < 270ms"]
"""


@pytest.fixture(scope="module")
def server() -> Iterator[TimetableProcess]:
    """Serves four requests at a time, each for 150 ms or so; the rest wait."""
    with TimetableProcess("--max-num-seqs", str(PLACES), *SCRIPT) as process:
        yield process


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "knee.yaml"
    path.write_text(SCENARIO)
    return path


def _command(name: str, *arguments: object) -> list[str]:
    return [sys.executable, "-m", "harness", name, *map(str, arguments)]


def _tokenpace(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        _command(name, *arguments), capture_output=True, text=True, timeout=250, check=False
    )


def test_finds_how_many_slots_a_server_of_four_places_bears(
    tmp_path: Path, scenario: Path, server: TimetableProcess
) -> None:
    """Four users wait for nothing, each of eight for a whole service more than its own."""
    folder = tmp_path / "search"
    arguments = (scenario, "--base-url", server.url, "--output", folder, "--precision", "60%")
    done = _tokenpace("capacity", *arguments, "--max-probes", 6)
    found = load(folder / "capacity.json")
    assert done.returncode in (0, 3), done.stderr
    assert found.best_pass is not None
    assert found.low is not None
    assert found.best_pass < 2 * PLACES
    assert found.low < 2 * PLACES
    assert found.high is None or found.high >= PLACES
    assert found.sentence.split(".")[0] in " ".join(done.stdout.split())
    for probe in found.probes:
        judged = load_result(folder / probe.folder / "result.json").verdict
        left_open = (judged, probe.verdict) == (Verdict.INVALID, Verdict.INCONCLUSIVE)  # the client's error
        assert judged == probe.verdict or left_open
        assert "the server was empty" in probe.drained
    again = _tokenpace("capacity", *arguments, "--max-probes", len(found.probes))
    assert load(folder / "capacity.json").probes == found.probes
    assert again.returncode == done.returncode
    other = _tokenpace("capacity", *arguments, "--set", "load.requests=31")
    assert other.returncode == 2
    assert "another scenario" in other.stderr


def test_an_interrupted_search_goes_on(tmp_path: Path, scenario: Path, server: TimetableProcess) -> None:
    folder = tmp_path / "search"
    arguments = (scenario, "--base-url", server.url, "--output", folder, "--max-probes", 3, "-q")
    process = subprocess.Popen(_command("capacity", *arguments), env=os.environ)
    deadline = time.monotonic() + 120
    while not (folder / "capacity.json").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1.0)
    process.send_signal(signal.SIGTERM)
    code = process.wait(60)
    broken_off = load(folder / "capacity.json")
    if len(broken_off.probes) < 3:
        assert (code, broken_off.end, broken_off.interrupted) == (143, End.INTERRUPTED, "SIGTERM")
    _tokenpace("capacity", *arguments)
    whole = load(folder / "capacity.json")
    assert whole.probes[: len(broken_off.probes)] == broken_off.probes
    assert whole.end in (End.BUDGET, End.PRECISION)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--set", "thresholds=null"), "states no objectives"),
        (("--max", "1", "--min", "2"), "lowest <= start <= highest"),
        (("--precision", "much"), "--precision"),
        (("--set", "load.concurrency=x"), "load.concurrency"),
        (("--max", "nan"), "--max nan: give a whole number of slots"),
        (("--start", "1.5"), "there are no parts of a slot"),
    ],
)
def test_bad_usage_is_told_before_any_load(
    tmp_path: Path, scenario: Path, server: TimetableProcess, arguments: tuple[str, ...], words: str
) -> None:
    folder = tmp_path / "search"
    done = _tokenpace("capacity", scenario, "--base-url", server.url, "--output", folder, *arguments)
    assert (done.returncode, folder.exists()) == (2, False), done.stderr
    assert words in done.stderr


def test_sweeps_a_grid_and_goes_on_with_a_larger_one(
    tmp_path: Path, scenario: Path, server: TimetableProcess
) -> None:
    folder = tmp_path / "sweep"
    arguments = (scenario, "--base-url", server.url, "--output", folder, "--set", "load.requests=8")
    done = _tokenpace("sweep", *arguments, "--over", "load.concurrency=1,2")
    first = load_sweep(folder / "sweep.json")
    assert done.returncode == first.exit_code, done.stderr
    assert [point.values for point in first.points] == [{"load.concurrency": 1}, {"load.concurrency": 2}]
    _tokenpace("sweep", *arguments, "--over", "load.concurrency=1,2,4")
    second = load_sweep(folder / "sweep.json")
    assert second.points[:2] == first.points
    assert [point.values["load.concurrency"] for point in second.points] == [1, 2, 4]
    rows = list(csv.DictReader((folder / "sweep.csv").read_text().splitlines()))
    assert [row["load.concurrency"] for row in rows] == ["1", "2", "4"]
    assert all((folder / row["folder"] / "report.html").exists() for row in rows)
    assert "load.concurrency" in (folder / "sweep.html").read_text()


def test_a_sweep_refuses_a_bad_point_before_any_load(
    tmp_path: Path, scenario: Path, server: TimetableProcess
) -> None:
    folder = tmp_path / "sweep"
    arguments = (scenario, "--base-url", server.url, "--output", folder)
    bad = (("load.concurrency=1,0", "concurrency"), ("load.rat=1", "rat"), ("load.rate", "pair"))
    for over, words in bad:
        done = _tokenpace("sweep", *arguments, "--over", over)
        assert (done.returncode, folder.exists()) == (2, False), done.stderr
        assert words in done.stderr
