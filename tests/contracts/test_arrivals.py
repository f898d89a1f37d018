"""What every arrival process keeps to, whichever files the folder holds."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from scenarios import arrivals
from scenarios.arrivals import OpenLoop
from scenarios.errors import ScenarioError
from scenarios.scenario import Scenario, scenario_from

if TYPE_CHECKING:
    from scenarios.schedule import Schedule

KINDS = arrivals.kinds.names
DATA = Path(__file__).parents[1] / "data" / "scenarios"


def _load(kind: str, **keys: Any) -> dict[str, Any]:
    fields = arrivals.kinds.load(kind).model_fields.items()
    examples = {
        name: yaml.safe_load(str(field.examples[0]))
        for name, field in fields
        if field.is_required() and field.examples
    }
    return {**examples, "arrivals": kind, **keys}


def _scenario(kind: str, seed: int = 1, **keys: Any) -> Scenario:
    data = {"name": kind, "seed": seed, "load": _load(kind, **keys)}
    return scenario_from({**data, "prompts": {"source": "text", "text": "Hi"}}, folder=DATA)


def _times(schedule: Schedule) -> list[int | None]:
    return [arrival.due_ns for arrival in schedule.arrivals]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_folder_is_found() -> None:
    assert {"constant", "poisson", "gamma", "closed"} <= set(KINDS)


def test_name_of_the_file_is_the_name_in_the_scenario(kind: str) -> None:
    assert arrivals.kinds.load(kind).__module__ == f"scenarios.arrivals.{kind}"


def test_every_required_key_has_an_example(kind: str) -> None:
    """Messages about a missing key show how to write it."""
    fields = arrivals.kinds.load(kind).model_fields
    lacking = [n for n, f in fields.items() if n != "arrivals" and f.is_required() and not f.examples]
    assert not lacking


def test_same_seed_gives_same_times(kind: str) -> None:
    assert _times(_scenario(kind, requests=200).schedule()) == _times(
        _scenario(kind, requests=200).schedule()
    )


def test_times_ascend_from_zero_or_are_left_to_the_slots(kind: str) -> None:
    schedule = _scenario(kind, requests=200).schedule()
    times = _times(schedule)
    if schedule.loop == "closed":
        assert times == [None] * len(times)
        assert schedule.concurrency
        assert schedule.planned_rate is None
    else:
        due = [time for time in times if time is not None]
        assert len(due) == len(times)
        assert due == sorted(due)
        assert due[0] >= 0
        assert all(type(time) is int for time in due)


def test_requests_limits_the_number(kind: str) -> None:
    schedule = _scenario(kind, requests=5).schedule()
    assert schedule.num_requests == 5
    assert [arrival.index for arrival in schedule.arrivals] == [0, 1, 2, 3, 4]


def test_duration_limits_the_times_of_an_open_loop(kind: str) -> None:
    schedule = _scenario(kind, duration="3s").schedule()
    assert schedule.duration_ns == 3_000_000_000
    if schedule.loop == "open":
        times = [time for time in _times(schedule) if time is not None]
        assert times
        assert max(times) < 3_000_000_000


def test_arrivals_are_made_one_by_one(kind: str) -> None:
    """A week of load costs nothing until it is sent."""
    schedule = _scenario(kind, duration="168h").schedule()
    assert len(list(itertools.islice(schedule.arrivals, 3))) == 3


@pytest.mark.parametrize("kind", [kind for kind in KINDS if issubclass(arrivals.kinds.load(kind), OpenLoop)])
def test_planned_rate_is_the_mean_rate(kind: str) -> None:
    scenario = _scenario(kind, requests=4000)
    assert isinstance(scenario.load, OpenLoop)
    times = [time for time in _times(scenario.schedule()) if time is not None]
    assert scenario.load.planned_rate == pytest.approx(
        (len(times) - 1) / (times[-1] - times[0]) * 1e9, rel=0.15
    )


def test_limits_reach_the_schedule(kind: str) -> None:
    schedule = _scenario(kind, duration="20s", warmup="2s", cooldown="3s", grace="7s").schedule()
    assert (schedule.warmup_ns, schedule.cooldown_ns, schedule.grace_ns) == (2 * 10**9, 3 * 10**9, 7 * 10**9)


def test_unknown_key_is_refused(kind: str) -> None:
    with pytest.raises(ScenarioError, match=r"load\.colour: no such key"):
        _scenario(kind, requests=1, colour="red")


def test_written_out_and_read_back_it_is_the_same(kind: str) -> None:
    scenario = _scenario(kind, requests=100, duration="20s", warmup="1s")
    assert scenario_from(scenario.to_mapping(), folder=DATA) == scenario
