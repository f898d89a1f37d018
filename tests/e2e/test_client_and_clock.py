"""A client that is too slow says so; a wall clock that is set says nothing."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from harness import event_loop
from harness.run import run
from harness.tally import Tally
from reports.result import Verdict
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    from pathlib import Path

    from support.timetable_process import TimetableProcess

    from harness.record import Record
    from harness.run import Run

MS, HOUR_S = 1_000_000, 3_600.0


def _run(url: str, folder: Path, **keys: Any) -> Run:
    data = {
        "name": "shape",
        "load": {"arrivals": "constant", "rate": 20, "requests": 40},
        "prompts": {"source": "text", "text": ["one two three"]},
        "sampling": {"max_tokens": 10},
        **keys,
    }
    return event_loop.run(
        run(scenario_from(data), base_url=url, result_dir=folder, reports=(), telemetry=False)
    )


@pytest.fixture
def blocked_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Something holds the event loop for 30 ms a request."""
    add = Tally.add

    def slow(self: Tally, record: Record) -> None:
        time.sleep(0.03)
        add(self, record)

    monkeypatch.setattr(Tally, "add", slow)


@pytest.mark.usefixtures("blocked_loop")
def test_A6_10_a_client_that_is_the_bottleneck_is_invalid_and_says_why(
    timetable: TimetableProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The event loop reads, and is blocked: a limit nearer than that can't be judged."""
    monkeypatch.setenv("TOKENPACE_READER", "loop")
    done = _run(timetable.url, tmp_path / "run", thresholds={"ttft": ["p50 < 25ms"], "e2e": ["p50 < 1h"]})
    health, (ttft, e2e) = done.result.health, done.result.rules
    assert health.loop_lag_p99 > 15 * MS
    summary = done.result.metric("ttft")
    assert summary is not None
    assert (summary.client_error_p99 or 0) > 15 * MS
    assert (ttft.verdict, e2e.verdict, done.exit_code) == (Verdict.INVALID, Verdict.PASS, 4)
    assert "the margin is not larger than the harness's own error" in ttft.message


@pytest.mark.usefixtures("blocked_loop")
def test_stamps_of_the_reading_thread_know_nothing_of_a_blocked_loop(
    timetable: TimetableProcess, tmp_path: Path
) -> None:
    done = _run(timetable.url, tmp_path / "run", thresholds={"service_ttft": ["p50 < 25ms"]})
    health = done.result.health
    assert health.loop_lag_p99 > 15 * MS
    assert health.reader_lag_p99 is not None
    assert health.reader_lag_p99 < 10 * MS
    assert done.result.rules[0].verdict is not Verdict.INVALID


def test_A7_05_a_wall_clock_set_back_an_hour_moves_no_time(
    timetable: TimetableProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true, begun_s = time.time, time.monotonic()

    def stepped() -> float:
        return true() - (HOUR_S if time.monotonic() - begun_s > 1 else 0)

    monkeypatch.setattr(time, "time", stepped)
    done = _run(timetable.url, tmp_path / "run")
    assert done.result.outcomes == {"ok": 40}
    assert 1.9 < done.result.duration_s < 60
    for record in done.records:
        stamps = [
            record.due_ns,
            record.sent_ns or 0,
            record.headers_ns or 0,
            *record.chunk_ns,
            record.done_ns,
        ]
        assert stamps == sorted(stamps)
        assert stamps[0] >= 0
        assert stamps[-1] - stamps[0] < 60_000 * MS
