"""How many workers a run gets, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest

from harness.workers import crew_size as module
from harness.workers.crew_size import WorkersError, crew_size
from scenarios.schedule import Schedule


def schedule(**limits: Any) -> Schedule:
    return Schedule(arrivals=iter(()), **{"loop": "open", **limits})


@pytest.fixture(autouse=True)
def eight_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "num_cpus", lambda: 8)


def test_one_worker_needs_no_remark() -> None:
    assert crew_size(1, schedule()) == (1, ())


@pytest.mark.parametrize("asked", [3, "3"])
def test_a_number_or_its_text(asked: int | str) -> None:
    size, notes = crew_size(asked, schedule())
    assert size == 3
    assert notes == ("sent by 3 workers; times of the client's health are those of the worst of them",)


def test_auto_leaves_one_cpu_to_everything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    assert crew_size("auto", schedule())[0] == 7
    monkeypatch.setattr(module, "num_cpus", lambda: 1)
    assert crew_size("auto", schedule()) == (1, ())


def test_idle_workers_are_not_started() -> None:
    size, notes = crew_size(6, schedule(loop="closed", concurrency=1))
    assert (size, notes) == (1, ("1 worker instead of 6: the load has no more to do at a time",))
    assert crew_size(6, schedule(max_in_flight=4))[0] == 4


def test_a_cap_in_shares_is_said() -> None:
    assert any("cap of 9" in note for note in crew_size(2, schedule(max_in_flight=9))[1])


def test_more_workers_than_cpus_are_said() -> None:
    assert any("9 workers share 8 CPUs" in note for note in crew_size(9, schedule())[1])


@pytest.mark.parametrize("asked", [0, -1, 257, "0", "two", "1.5", "", "٣", 2.0, True, None])
def test_what_is_no_number_of_workers_is_refused(asked: Any) -> None:
    with pytest.raises(WorkersError, match="give 1 to 256, or auto"):
        crew_size(asked, schedule())
