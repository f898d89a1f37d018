"""Ctrl-C and SIGTERM while a test sends load: what was measured is kept, and told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from support.timetable_process import TimetableProcess

    from tests.e2e.pytest_plugin.conftest import Project

SYNC = """
    import pytest
    @pytest.mark.sla(ttft_p50="5s")
    def test_long(load):
        load(rate=20, duration="60s", prompts="Hi", max_tokens=2)
"""
ASYNC = SYNC.replace("def test", "async def test").replace("load(rate", "await load(rate")
SHARED = """
    import pytest
    @pytest.fixture(scope="session")
    def shared(load_session):
        return load_session(rate=20, duration="60s", prompts="Hi", max_tokens=2)
    def test_long(shared): pass
"""


def _end(project: Project, number: signal.Signals, *arguments: str) -> tuple[int, str]:
    """Start pytest, send the signal once some requests have ended, wait for its end."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLA_", "PYTEST_"))}
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", "--sla-results=out", *arguments],
        cwd=project.path,
        env={**kept, "SLA_ENDPOINT": project.server, "COLUMNS": "150"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        _await_requests(project.path, process)
        process.send_signal(number)
        output, _ = process.communicate(timeout=60)
    return process.returncode, output


def _await_requests(path: Path, process: subprocess.Popen[str]) -> None:
    for _ in range(600):
        if any(journal.stat().st_size for journal in path.glob("out/*/journal.jsonl")):
            return
        assert process.poll() is None
        time.sleep(0.1)
    process.kill()
    raise AssertionError("no request ended within a minute")


def _demand_whole(project: Project, output: str, name: str) -> None:
    (folder,) = (project.path / "out").iterdir()
    result = json.loads((folder / "result.json").read_text())
    assert result["interrupted"] == name
    assert result["num_requests"] > 0
    assert (folder / "report.html").is_file()
    said = f"test_it.py::test_long was interrupted by {name}; what it had measured: out/{folder.name}"
    assert "= SLA =" in output, output
    assert said in output, output


@pytest.mark.parametrize(
    ("source", "number", "name"),
    [
        (SYNC, signal.SIGINT, "SIGINT"),
        (SYNC, signal.SIGTERM, "SIGTERM"),
        (SHARED, signal.SIGINT, "SIGINT"),
        (ASYNC, signal.SIGINT, "a cancellation"),
    ],
    ids=["sync-SIGINT", "sync-SIGTERM", "shared-SIGINT", "async-SIGINT"],
)
def test_what_was_measured_is_kept_and_told(
    project: Project, source: str, number: signal.Signals, name: str
) -> None:
    project.write("test_it.py", source)
    code, output = _end(project, number)
    assert code == pytest.ExitCode.INTERRUPTED, output
    _demand_whole(project, output, name)
    if "sla" in source:
        assert "ttft p50 <= 5s" in output


def test_of_a_pytest_xdist_worker_too(project: Project, timetable: TimetableProcess) -> None:
    """The controller alone is told, as by a CI system."""
    del timetable
    project.write("test_it.py", SYNC)
    code, output = _end(project, signal.SIGINT, "-n", "2")
    assert code == pytest.ExitCode.INTERRUPTED, output
    _demand_whole(project, output, "SIGINT")
