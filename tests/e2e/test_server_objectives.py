"""Objectives on what the server says of itself, from a real server to the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from harness import event_loop
from harness.run import report, run
from harness.sla.errors import RuleError
from reports.result import Verdict
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    from pathlib import Path

    from support.timetable_process import TimetableProcess

BUSY = "server_requests_running max <= 64"
UNKNOWN = "server_kv_cache_usage max < 90%"


def _data(**thresholds: list[str]) -> dict[str, Any]:
    return {
        "name": "server-objectives",
        "load": {"arrivals": "closed", "concurrency": 4, "duration": "4s"},
        "prompts": {"source": "text", "text": "Hi"},
        "sampling": {"max_tokens": 5},
        "thresholds": thresholds,
    }


def test_judged_by_what_was_seen_in_the_run(timetable: TimetableProcess, tmp_path: Path) -> None:
    """Stated before, asked for afterwards and made again from the folder: the same."""
    scenario = scenario_from(
        _data(server_requests_running=["max <= 64"], server_kv_cache_usage=["max < 90%"])
    )
    done = event_loop.run(run(scenario, base_url=timetable.url, result_dir=tmp_path / "r"))
    rules = {rule.rule: rule for rule in done.result.rules}
    assert rules[BUSY].verdict is Verdict.PASS
    assert 2 <= rules[BUSY].n <= 6
    assert "the server was looked at every" in rules[BUSY].message
    assert rules[UNKNOWN].verdict is Verdict.INVALID
    assert "/metrics (vllm) doesn't say it" in rules[UNKNOWN].message
    assert done.result.verdict is Verdict.INVALID
    assert BUSY in done.reports["junit"].read_text().replace("&lt;", "<")
    assert "server_requests_running" in done.reports["html"].read_text()
    assert report(done.folder, reports=()).result == done.result
    asked = {rule.rule: rule for rule in done.judged_with({"server_requests_running": ["max <= 0"]}).rules}
    assert asked[BUSY] == rules[BUSY]
    assert asked["server_requests_running max <= 0"].verdict is Verdict.FAIL


def test_without_telemetry_it_is_refused_before_any_load(timetable: TimetableProcess, tmp_path: Path) -> None:
    scenario = scenario_from(_data(server_requests_running=["max <= 64"]))
    folder = tmp_path / "r"
    with pytest.raises(RuleError, match="leave --no-telemetry out"):
        event_loop.run(run(scenario, base_url=timetable.url, result_dir=folder, telemetry=False))
    assert not folder.exists()
