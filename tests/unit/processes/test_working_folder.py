"""No process of ours imports what happens to lie in the folder that the user stands in."""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from harness.calibration.timetable import Timetable
from harness.own_server import serving
from reference_server.engine.config import EngineConfig
from reference_server.engine.process_client import ProcessClient

ROOT = Path(__file__).parents[3]
NAMES = ("token", "dis", "string", "queue", "asyncio", "json")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand where files have names of the standard library; importing one of them ends the process."""
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text("raise SystemExit('code of the user was run')\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "arguments", [["serve", "--nonsense"], ["serve", "--engine", "timetable", "--nonsense"]]
)
def test_the_server_starts(arguments: list[str]) -> None:
    command = [str(Path(sys.executable).with_name("tokenpace")), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "--nonsense" in done.stderr) == (2, True), done.stderr


async def test_the_engine_starts() -> None:
    client = ProcessClient(EngineConfig(model="tiny-random", device="cpu", cpu_threads=1, max_model_len=64))
    try:
        assert (await client.start()).max_model_len == 64
    finally:
        await client.close()


def test_the_timetable_of_calibrations_starts() -> None:
    with Timetable() as timetable:
        assert timetable.take_log() == []


def test_the_server_of_tests_starts() -> None:
    with serving("timetable") as url, urllib.request.urlopen(f"{url}/health") as answer:
        assert answer.status == 200


@pytest.mark.parametrize("package", ["harness", "reference_server", "reports", "scenarios"])
def test_every_module_is_started_without_the_working_folder(package: str) -> None:
    """Wherever a command says ``-m``, it says ``-P`` before."""
    unsafe = re.compile(r'(?<!"-P", )"-m"')
    faults = [path for path in (ROOT / package).rglob("*.py") if unsafe.search(path.read_text())]
    assert faults == []
