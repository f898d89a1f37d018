"""Conversations against a server, in one process and in several."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from support.timetable_process import TimetableProcess

from harness import event_loop
from harness.run import report, run
from reports import formats
from reports.result import Verdict
from scenarios.scenario import load_scenario, scenario_from

if TYPE_CHECKING:
    from pathlib import Path

    from harness.record import Record
    from harness.run import Run

SERVER = ("--ttft", "5ms", "--gap", "1ms", "--tokens", "10")
TRIES = 3


def _run(folder: Path, load: dict[str, Any], workers: int = 1, **keys: Any) -> Run:
    data = {
        "name": "talk",
        "load": load,
        "prompts": {
            "source": "conversation",
            "turns": {"min": 2, "max": 5},
            "length": 12,
            "system_length": 30,
        },
        "sampling": {"max_tokens": 6},
        **keys,
    }
    scenario = scenario_from(data)
    with TimetableProcess(*SERVER) as server:
        going = run(scenario, base_url=server.url, result_dir=folder, reports=(), workers=workers)
        return event_loop.run(going)


def _by_conversation(done: Run) -> dict[int | None, list[Record]]:
    found = defaultdict(list)
    for record in done.records:
        found[record.conversation].append(record)
    return {number: sorted(records, key=lambda each: each.index) for number, records in found.items()}


def _demand_whole(done: Run, num: int) -> None:
    """Exactly the asked number; turns in order, each after the answer before it, with more to read."""
    assert done.result.outcomes == {"ok": num}
    records = list(done.records)
    assert sorted(record.index for record in records) == list(range(num))
    assert len({record.request_id for record in records}) == num
    for turns in _by_conversation(done).values():
        assert [record.turn for record in turns] == list(range(1, len(turns) + 1))
        assert turns[-1].num_turns == len(turns)
        for before, record in itertools.pairwise(turns):
            assert record.due_ns >= before.done_ns
            assert (record.prompt_tokens or 0) > (before.prompt_tokens or 0)


LOADS = {
    "closed": {"arrivals": "closed", "concurrency": 7, "requests": 40, "think_time": "5ms"},
    "open": {"arrivals": "poisson", "rate": 60, "requests": 40, "think_time": "5ms"},
    "capped": {"arrivals": "poisson", "rate": 60, "requests": 40, "max_in_flight": 3},
}


@pytest.mark.parametrize(
    ("load", "workers"), [("closed", 1), ("open", 1), ("capped", 1), ("closed", 2), ("capped", 2)]
)
def test_A7_03_exactly_the_asked_number(tmp_path: Path, load: str, workers: int) -> None:
    done = _run(tmp_path / "run", LOADS[load], workers)
    _demand_whole(done, 40)
    for turns in _by_conversation(done).values():
        senders = {(record.request_id or "").rpartition("-")[0] for record in turns}
        assert len(senders) == 1, "a conversation is sent by one worker"


def test_the_report_is_made_again_from_the_journal(tmp_path: Path) -> None:
    load = {"arrivals": "closed", "concurrency": 4, "requests": 30}
    deadlines = {"ttft": "1s", "tpot": "500ms"}
    done = _run(
        tmp_path / "run",
        load,
        token_deadlines=deadlines,
        thresholds={"token_deadline_attainment": ["p50 >= 90%"]},
    )
    first = msgspec.json.encode(done.result)
    assert msgspec.json.encode(report(done.folder, ()).result) == first
    assert done.result.verdict is Verdict.PASS
    found = done.result.conversations
    assert found is not None
    assert sum(turn.num_requests for turn in found.turns) == 30
    assert found.turns[0].num_requests == found.num_begun == len(_by_conversation(done))
    for name in ("console", "markdown", "html"):
        assert "2 and later" in formats.get(name).render(done.result)


def test_the_agentic_scenario_runs(tmp_path: Path) -> None:
    """With requests enough for its own objectives, and a server that meets them."""
    for attempt in range(TRIES):
        scenario = load_scenario("agentic", {"load.think_time": "10ms", "load.ramp": "0s"})
        with TimetableProcess(*SERVER) as server:
            going = run(scenario, base_url=server.url, result_dir=tmp_path / str(attempt), reports=())
            done = event_loop.run(going)
        _demand_whole(done, 120)
        if done.result.verdict is Verdict.PASS:
            return
    raise AssertionError(done.result.rules)
