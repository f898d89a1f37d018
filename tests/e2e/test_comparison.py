"""A run held against a baseline, from the command line to the files it leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.tokenpace_command import tokenpace

from reports.result import Verdict, load

if TYPE_CHECKING:
    from pathlib import Path

    from support.timetable_process import TimetableProcess

SCENARIO = """
schema: 1
name: probe
load: {arrivals: closed, concurrency: 4, requests: 200}
prompts: {source: text, text: [one two three]}
sampling: {max_tokens: 4}
thresholds:
  error_rate: ["<= baseline + 20 points"]
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "probe.yaml"
    path.write_text(SCENARIO)
    return path


def test_a_run_is_held_against_a_baseline(
    timetable: TimetableProcess, scenario: Path, tmp_path: Path
) -> None:
    """Refused without one, judged with one, and reported again byte for byte."""
    to = ("--base-url", timetable.url)
    refused = tokenpace("run", scenario, *to, cwd=tmp_path)
    assert (refused.returncode, "no baseline is given" in refused.stderr) == (2, True)
    first = tokenpace("run", scenario, *to, "--set", "thresholds={}", "--output", "first", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert tokenpace("baseline", "save", "main", "first", cwd=tmp_path).returncode == 0
    run = ("run", scenario, *to, "--baseline", "main")
    other = tokenpace(*run, "--set", "load.concurrency=2", cwd=tmp_path)
    assert (other.returncode, "load.concurrency was 4" in other.stderr) == (2, True)
    second = tokenpace(*run, "--output", "second", cwd=tmp_path)
    assert second.returncode == 0, second.stdout + second.stderr
    folder = tmp_path / "second"
    result = load(folder / "result.json")
    (rule,) = result.rules
    assert (rule.rule, rule.verdict) == ("error_rate <= baseline + 20 points", Verdict.PASS)
    assert any("against baseline main" in note for note in result.notes)
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert {"comparison.html", "comparison.md", "comparison.json"} <= before.keys()
    assert tokenpace("report", folder, cwd=tmp_path).returncode == 0
    after = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert after == before
