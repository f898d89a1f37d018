"""R2: a disk that is full costs what doesn't fit on it, and nothing else."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from harness.journal import read_journal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.timetable_process import TimetableProcess

    from tests.robustness.conftest import Tokenpace, Write

LOAD = {"arrivals": "constant", "rate": 200, "requests": 1_200}
LIMITED = (
    "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
    "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1]))); del sys.argv[1];"
    "from harness.cli import main; main()"
)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 300 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(place)]
    if os.geteuid() or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("this process may not mount a file system")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def assert_graceful(done: subprocess.CompletedProcess[str], folder: Path) -> int:
    """One clear message, the summary all the same, whole lines: how many requests were kept."""
    assert done.returncode == 4, done.stderr
    assert "Traceback" not in done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("tokenpace: ")]
    assert len(said) == 1
    assert "written" in said[0]
    assert "Metrics" in done.stdout
    data = (folder / "journal.jsonl").read_bytes()
    assert data.endswith(b"\n")
    return sum(1 for _ in read_journal(folder / "journal.jsonl"))


def test_R2_a_full_file_system(
    timetable: TimetableProcess, write: Write, small_disk: Path, tokenpace: Tokenpace
) -> None:
    folder = small_disk / "run"
    done = tokenpace("run", write(LOAD), "--base-url", timetable.url, "--output", folder)
    assert 50 < assert_graceful(done, folder) <= 1_200


@pytest.mark.parametrize("limit", [3_000, 60_000, 120_000])
def test_R2_a_limit_on_the_size_of_files(
    limit: int, timetable: TimetableProcess, write: Write, tmp_path: Path, tokenpace: Tokenpace
) -> None:
    """Whichever file meets it first: the checkpoint, the journal."""
    folder = tmp_path / "run"
    scenario = write(LOAD)
    done = tokenpace(limit, "run", scenario, "--base-url", timetable.url, "--output", folder, code=LIMITED)
    assert assert_graceful(done, folder) <= 1_200


def test_R2_a_journal_that_fits_and_a_report_that_does_not(
    timetable: TimetableProcess, write: Write, tmp_path: Path, tokenpace: Tokenpace
) -> None:
    """All requests are kept, no report is half written, and it can be made later."""
    folder = tmp_path / "run"
    scenario = write({"arrivals": "constant", "rate": 100, "requests": 60})
    options = ("--base-url", timetable.url, "--output", folder)
    done = tokenpace(45_000, "run", scenario, *options, code=LIMITED)
    assert assert_graceful(done, folder) == 60
    assert not (folder / "report.html").exists()
    assert tokenpace("report", folder, "-q").returncode == 0
    assert (folder / "report.html").stat().st_size > 45_000


def test_R2_nowhere_to_write_is_found_before_the_load(
    timetable: TimetableProcess, write: Write, tokenpace: Tokenpace
) -> None:
    before = len(timetable.get("/timetable/log?after=0").body.splitlines())
    done = tokenpace("run", write(LOAD), "--base-url", timetable.url, "--output", "/dev/full")
    assert done.returncode == 2
    assert "--output" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(timetable.get("/timetable/log?after=0").body.splitlines()) == before
