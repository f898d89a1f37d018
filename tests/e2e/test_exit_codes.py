"""Each way in which a run can end has an exit code of its own, and the result on disk says the same."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING, NamedTuple

import pytest
from support.tokenpace_command import start_tokenpace

from reports.result import load

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from support.timetable_process import TimetableProcess

SCENARIO = """
schema: 1
name: ends
load: {load}
prompts: {{source: text, text: one two three}}
sampling: {{max_tokens: 4}}
timeouts: {{total: {timeout}}}
thresholds:
  {rule}
"""
SHORT = "{arrivals: closed, concurrency: 2, requests: 20}"
LONG = "{arrivals: closed, concurrency: 1, duration: 60s}"


class End(NamedTuple):
    """What is asked for, and the exit code and verdict that come of it."""

    rule: str
    code: int
    verdict: str | None
    load: str = SHORT
    timeout: str = "30s"
    signal: signal.Signals | None = None


ENDS = {
    "pass": End("output_tokens: ['p50 >= 1']", 0, "PASS"),
    "fail": End("output_tokens: ['p50 <= 1']", 1, "FAIL"),
    "usage": End("otput_tokens: ['p50 >= 1']", 2, None),
    "inconclusive": End("output_tokens: ['p1 >= 1']", 3, "INCONCLUSIVE"),
    "invalid": End("output_tokens: ['p50 >= 1']", 4, "INVALID", timeout="1ms"),
    "SIGINT": End("output_tokens: ['p50 >= 1']", 130, None, load=LONG, signal=signal.SIGINT),
    "SIGTERM": End("output_tokens: ['p50 >= 1']", 143, None, load=LONG, signal=signal.SIGTERM),
}


@pytest.mark.parametrize("name", ENDS)
def test_B1_03_every_end_has_its_exit_code(timetable: TimetableProcess, tmp_path: Path, name: str) -> None:
    end, folder = ENDS[name], tmp_path / "result"
    process = _start(end, timetable.url, tmp_path, folder)
    if end.signal is not None:
        _wait_for_requests(folder)
        process.send_signal(end.signal)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == end.code, errors
    if end.code == 2:
        assert not folder.exists()
        return
    result = load(folder / "result.json")
    assert result.exit_code == end.code
    if end.signal is None:
        assert result.verdict == end.verdict
    else:
        assert result.interrupted == end.signal.name


def test_B1_06_a_load_that_ends_by_itself_ends_the_run(timetable: TimetableProcess, tmp_path: Path) -> None:
    """Stages say how long they last; nobody else has to."""
    stages = "{arrivals: stages, stages: [{rate: 20, duration: 1s}]}"
    process = _start(End("output_tokens: ['p50 >= 1']", 0, "PASS", load=stages), timetable.url, tmp_path)
    _, errors = process.communicate(timeout=120)
    assert process.returncode in (0, 4), errors  # on a machine too busy to keep to the plan it is INVALID
    assert (tmp_path / "result" / "report.html").exists()


def _start(end: End, url: str, place: Path, folder: Path | None = None) -> subprocess.Popen[str]:
    scenario = place / "ends.yaml"
    scenario.write_text(SCENARIO.format(load=end.load, timeout=end.timeout, rule=end.rule))
    where = ("--output", folder or place / "result", "--base-url", url, "--model", "timetable", "-q")
    return start_tokenpace("run", scenario, *where)


def _wait_for_requests(folder: Path) -> None:
    journal = folder / "journal.jsonl"
    for _ in range(600):
        if journal.exists() and journal.stat().st_size:
            return
        time.sleep(0.1)
    pytest.fail("no request ended within a minute")
