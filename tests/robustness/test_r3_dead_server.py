"""R3: a server that dies in the middle is never a pass."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

import pytest
from support.timetable_process import TimetableProcess

from reports.result import Verdict

if TYPE_CHECKING:
    from tests.robustness.conftest import Perform

NUM = 300
KEYS = {"thresholds": {"ttft": ["p50 < 5s"], "error_rate": ["< 50%"]}}


@pytest.mark.parametrize(
    "rules", [KEYS, {"thresholds": {"ttft": ["p95 < 5s"]}}, {}], ids=["rate", "time", "none"]
)
def test_R3_a_server_killed_half_way(perform: Perform, rules: dict[str, object]) -> None:
    """Every request is accounted for: those before the kill, those it cut off, those that found nobody."""
    with TimetableProcess("--ttft", "300ms", "--gap", "20ms") as server:
        killing = threading.Timer(1.9, server.end, [signal.SIGKILL])
        killing.start()
        done = perform(
            server.url, {"arrivals": "constant", "rate": 100, "requests": NUM}, keys=rules, model=None
        )
        killing.join()
    outcomes = done.result.outcomes
    assert sum(outcomes.values()) == NUM == len({record.index for record in done.records})
    assert outcomes["ok"] == sum(record.outcome.succeeded for record in done.records) > 50
    lost = {name: outcomes.get(name, 0) for name in ("reset", "truncated", "connect_error")}
    assert outcomes["ok"] + sum(lost.values()) == NUM
    assert lost["reset"] + lost["truncated"] >= 10
    assert lost["connect_error"] >= 50
    classes = {error.outcome: error.count for error in done.result.errors}
    assert {name: num for name, num in lost.items() if num} == {
        name: sum(error.count for error in done.result.errors if error.outcome == name) for name in classes
    }
    assert done.result.verdict is not Verdict.PASS
    if rules:
        assert done.exit_code in (1, 3, 4)
