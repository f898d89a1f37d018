"""A load sent by several processes leaves what one process leaves."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Any

import pytest
from support.timetable_process import TimetableProcess
from support.tokenpace_command import tokenpace

from harness import event_loop
from harness.run import report, run
from reports.result import Verdict
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    from pathlib import Path

    from harness.run import Run

S = 10**9


def _run(url: str, folder: Path, load: dict[str, Any], workers: int, **keys: Any) -> Run:
    data = {
        "name": "shared",
        "load": load,
        "prompts": {"source": "synthetic", "length": {"min": 3, "max": 9}},
        "sampling": {"max_tokens": 5},
        "thresholds": {"ttft": ["p95 < 5s"]},
        "seed": 3,
        **keys,
    }
    asked = run(scenario_from(data), base_url=url, result_dir=folder, reports=(), workers=workers)
    return event_loop.run(asked)


def _tokens(done: Run) -> dict[str, Any]:
    tokens = {name: done.result.metric(name) for name in ("output_tokens", "prompt_tokens")}
    return {name: (each.n, each.mean, each.percentiles) for name, each in tokens.items() if each}


def test_requests_and_tokens_are_those_of_one_process(timetable: TimetableProcess, tmp_path: Path) -> None:
    """The same requests, due at the same instants, with the same answers; one folder as ever."""
    load = {"arrivals": "poisson", "rate": 80, "requests": 120}
    one = _run(timetable.url, tmp_path / "one", load, 1)
    many = _run(timetable.url, tmp_path / "many", load, 3)
    assert many.result.outcomes == one.result.outcomes == {"ok": 120}
    assert _tokens(many) == _tokens(one)
    plans = [
        sorted((each.index, each.due_ns, each.prompt_tokens) for each in done.records) for done in (one, many)
    ]
    assert plans[0] == plans[1]
    names = [{path.name for path in done.folder.path.iterdir()} for done in (one, many)]
    assert names[0] == names[1]
    assert not any("worker" in cause for cause in many.result.causes)
    assert any("sent by 3 workers" in note for note in many.result.notes)


def test_each_worker_does_its_share(timetable: TimetableProcess, tmp_path: Path) -> None:
    """What the run counted is the sum of what they did, and each says how it felt."""
    done = _run(timetable.url, tmp_path / "r", {"arrivals": "constant", "rate": 100, "requests": 101}, 4)
    health = done.result.health
    assert [each.num_requests for each in health.workers] == [26, 25, 25, 25]
    assert health.cpu_share == pytest.approx(sum(each.cpu_share for each in health.workers))
    assert health.loop_lag_p99 == max(each.loop_lag_p99 for each in health.workers)
    assert health.planned_rate == pytest.approx(100)
    assert done.result.num_requests == 101
    assert [each.index for each in done.result.samples] == [0, 1, 2]


def test_the_journal_gives_the_same_result_again(timetable: TimetableProcess, tmp_path: Path) -> None:
    """In the order of the ends, as the journal of one process; also where only the end tells the window."""
    load = {"arrivals": "constant", "rate": 100, "requests": 150, "warmup_requests": 40}
    done = _run(timetable.url, tmp_path / "r", load, 3)
    before = {path.name: path.read_bytes() for path in done.folder.path.iterdir()}
    again = report(done.folder, reports=())
    assert again.result == done.result
    assert {path.name: path.read_bytes() for path in done.folder.path.iterdir()} == before
    ends = [each.done_ns for each in done.records]
    assert ends == sorted(ends)


def test_slots_of_a_closed_loop_are_shared_out(timetable: TimetableProcess, tmp_path: Path) -> None:
    """Never more in flight than slots, each opened at its time of the ramp, and every request sent."""
    slow = {"max_tokens": 5, "extra_body": {"timetable": {"ttft": "1s"}}}
    load = {"arrivals": "closed", "concurrency": 5, "ramp": "1s", "requests": 15}
    done = _run(timetable.url, tmp_path / "r", load, 2, sampling=slow)
    records = list(done.records)
    assert sorted(each.index for each in records) == list(range(15))
    assert max(point.in_flight for point in done.result.timeline) <= 5
    opened = sorted(each.due_ns / S for each in records)[:5]
    assert opened == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8], abs=0.15)


def test_conversations_stay_together(timetable: TimetableProcess, tmp_path: Path) -> None:
    """All turns are sent, each after the answer before it."""
    prompts = {"source": "conversation", "turns": 3, "length": 4}
    load = {"arrivals": "closed", "concurrency": 4, "requests": 60}
    done = _run(timetable.url, tmp_path / "r", load, 2, prompts=prompts)
    assert done.result.outcomes == {"ok": 60}
    at = {each.index: each for each in done.records}
    assert all(at[first + 1].due_ns >= at[first].done_ns for first in range(0, 60, 3))


def test_a_limit_is_passed_by_all_together(timetable: TimetableProcess, tmp_path: Path) -> None:
    """Thirty in flight in all, which no worker alone has; what was in flight comes to its end."""
    slow = {"max_tokens": 5, "extra_body": {"timetable": {"ttft": "1500ms"}}}
    load = {"arrivals": "constant", "rate": 60, "requests": 2_000, "stop": {"in_flight": 30}}
    done = _run(timetable.url, tmp_path / "r", load, 3, sampling=slow)
    assert 30 <= done.result.num_requests < 90
    assert done.result.outcomes == {"ok": done.result.num_requests}
    assert any("ended early: 30 requests were in flight" in note for note in done.result.notes)
    assert done.exit_code == 3


def test_idle_workers_are_not_started(timetable: TimetableProcess, tmp_path: Path) -> None:
    load = {"arrivals": "closed", "concurrency": 1, "requests": 3}
    done = _run(timetable.url, tmp_path / "r", load, 4)
    assert any(note.startswith("1 worker instead of 4") for note in done.result.notes)
    assert done.result.health.workers == ()


def test_R3_every_request_to_a_dead_server_is_accounted_for(tmp_path: Path) -> None:
    """Those before the kill, those it cut off, those that found nobody, in all workers together."""
    with TimetableProcess("--ttft", "100ms", "--gap", "5ms") as server:

        def kill_half_way() -> None:
            server.log(100)
            server.end(signal.SIGKILL)

        killing = threading.Thread(target=kill_half_way)
        killing.start()
        done = _run(server.url, tmp_path / "r", {"arrivals": "constant", "rate": 100, "requests": 250}, 2)
        killing.join()
    outcomes = done.result.outcomes
    assert sum(outcomes.values()) == done.result.num_requests == 250
    assert {each.index for each in done.records} == set(range(250))
    assert outcomes["ok"] >= 100
    assert set(outcomes) <= {"ok", "reset", "truncated", "connect_error"}
    assert done.result.verdict is not Verdict.PASS


@pytest.mark.parametrize("workers", ["0", "many", "1000"])
def test_no_such_number_of_workers(
    timetable: TimetableProcess, scenario: Path, tmp_path: Path, workers: str
) -> None:
    arguments = ("--base-url", timetable.url, "--output", tmp_path / "r", "--workers", workers)
    done = tokenpace("run", scenario, *arguments)
    assert done.returncode == 2
    assert "give 1 to 256, or auto" in done.stderr
    assert not (tmp_path / "r").exists()
