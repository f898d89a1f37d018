"""R5: setting the clock moves no duration."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import harness
from harness.journal import read_journal
from reports.result import load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.timetable_process import TimetableProcess

    from tests.robustness.conftest import Tokenpace, Write

WALL = {"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "time.strftime", "time.localtime"}
LABELS = {
    "harness/locust/fleet.py": "how far a worker's clock is off, told in words",
    "harness/locust/station.py": "the worker's side of that",
    "harness/receive_delays.py": "both ends of a delay by the kernel's clock",
    "harness/result_folder.py": "the folder's name",
    "harness/wall_clock.py": "started_at, made_at",
}
"""Where the wall clock may be read, and what for."""

STEPPED = """
import time, random
true, true_ns = time.time, time.time_ns
chance = random.Random(1)
shift = lambda: chance.choice((-3600, 0, 3600))
time.time = lambda: true() + shift()
time.time_ns = lambda: true_ns() + shift() * 10**9
from harness.cli import main
main()
"""
S = 10**9


def wall_clock_calls(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = f"{node.value.id}.{node.attr}"
            if name in WALL:
                yield name


def test_R5_the_wall_clock_is_read_for_labels_only() -> None:
    """Whoever adds a place says here what it is for."""
    root = Path(harness.__file__).parents[1]
    found = {
        str(path.relative_to(root))
        for path in (root / "harness").rglob("*.py")
        if any(wall_clock_calls(path))
    }
    assert found == set(LABELS)


@pytest.mark.parametrize(
    "arrivals", [{"arrivals": "constant", "rate": 50}, {"arrivals": "closed", "concurrency": 2}]
)
def test_R5_a_clock_that_jumps_by_an_hour_at_every_look(
    arrivals: dict[str, object],
    timetable: TimetableProcess,
    write: Write,
    tmp_path: Path,
    tokenpace: Tokenpace,
) -> None:
    scenario = write({**arrivals, "requests": 100})
    folder = tmp_path / "run"
    done = tokenpace("run", scenario, "--base-url", timetable.url, "--output", folder, code=STEPPED)
    assert done.returncode == 0, done.stderr
    result = load(folder / "result.json")
    assert result.outcomes == {"ok": 100}
    assert result.duration_s < 60
    records = list(read_journal(folder / "journal.jsonl"))
    for record in records:
        assert record.sent_ns is not None
        times = [record.due_ns, record.sent_ns, record.headers_ns, *record.chunk_ns, record.done_ns]
        assert times == sorted(times)
        assert 0 <= times[-1] - times[0] < 60 * S
    assert result.health.loop_lag_max < 60 * S
    assert (result.health.receive_delay_max or 0) < 60 * S
    assert json.loads((folder / "checkpoint.json").read_bytes())["started_ns"] > 0
    assert result.started_at[:2] == "20"
