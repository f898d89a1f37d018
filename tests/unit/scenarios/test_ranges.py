"""Numbers that no run can have, and values that no body can carry, are refused by name before any load."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from scenarios.errors import ScenarioError
from scenarios.scenario import load_scenario, scenario_from

if TYPE_CHECKING:
    from pathlib import Path

    from scenarios.scenario import Scenario

TRACE = "Timestamp,Request tokens,Response tokens\n0,5,3\n4,6,2\n"
HUGE = 99_999_999_999_999_999_999
POISSON = {"arrivals": "poisson", "rate": 5, "requests": 5}
GAMMA = {"arrivals": "gamma", "rate": 5, "requests": 5}
CLOSED = {"arrivals": "closed", "concurrency": 1, "requests": 5}
STAGES = {"arrivals": "stages"}


def _scenario(load: dict[str, Any], folder: Path | None = None, **keys: Any) -> Scenario:
    data = {"name": "t", "load": load, "prompts": {"source": "text", "text": "Hi"}, **keys}
    return scenario_from(data, folder=folder)


@pytest.mark.parametrize(
    ("load", "message"),
    [
        ({"requests": HUGE}, r"load\.requests: must be less than or equal to 1000000000000, not 9999"),
        ({"warmup_requests": HUGE}, r"load\.warmup_requests: must be less than"),
        ({"max_in_flight": HUGE}, r"load\.max_in_flight: must be less than or equal to 1000000, not"),
        ({"stop": {"in_flight": HUGE}}, r"load\.stop\.in_flight: must be less than"),
        ({"rate": 1e-300}, r"load\.rate: must be from 1e-09 to 1,000,000 per second, not 1e-300"),
        ({"arrivals": "constant", "rate": 1e300}, r"load\.rate: must be from .* not 1e\+300"),
        ({"rate": 10**400}, r"load\.rate: 1000.*a rate must be finite"),
        (GAMMA | {"burstiness": 1e-300}, r"load\.burstiness: must be greater than or equal to 0\.0001, not"),
        (GAMMA | {"burstiness": 1e300}, r"load\.burstiness: must be less than or equal to 1000000"),
        (
            STAGES | {"stages": [{"rate": 1, "to": 1e15, "duration": "1s"}]},
            r"\.stages\[0\]\.to: must be from",
        ),
        (CLOSED | {"concurrency": 10**9}, r"load\.concurrency: must be less than or equal to 1000000, not"),
    ],
)
def test_numbers_of_load_that_no_run_has(load: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        _scenario(load if "arrivals" in load else POISSON | load)


@pytest.mark.parametrize(
    ("speed", "message"), [(1e-300, "greater than or equal to 0.001"), (1e300, "less than")]
)
def test_speed_of_a_replay_has_limits(tmp_path: Path, speed: float, message: str) -> None:
    (tmp_path / "t.csv").write_text(TRACE, encoding="utf-8")
    load = {"arrivals": "replay", "file": "t.csv", "format": "burstgpt", "speed": speed}
    with pytest.raises(ScenarioError, match=rf"load\.speed: must be {message}"):
        _scenario(load, tmp_path)


@pytest.mark.parametrize(
    "load",
    [
        {"arrivals": "gamma", "rate": 1e-9, "requests": 5, "burstiness": 1e-4},
        {"arrivals": "gamma", "rate": 1e6, "requests": 5, "burstiness": 1e6},
        {"arrivals": "poisson", "rate": 1e-9, "requests": 10**12},
        {"arrivals": "constant", "rate": 1e6, "requests": 10**12},
        {"arrivals": "closed", "concurrency": 1_000_000, "requests": 10**12},
    ],
)
def test_the_ends_of_the_ranges_can_be_run(load: dict[str, Any]) -> None:
    arrivals = list(itertools.islice(_scenario(load).schedule().arrivals, 5))
    assert len(msgspec.json.encode(arrivals)) > 0


@pytest.mark.parametrize(
    ("sampling", "message"),
    [
        ({"seed": HUGE}, r"sampling\.seed: must be less than"),
        ({"top_k": HUGE}, r"sampling\.top_k: must be less than"),
        ({"extra_body": {"a": {"b": [1.0, math.nan]}}}, r"sampling: extra_body\.a\.b\[1\]: JSON has no nan"),
        ({"extra_body": {"a": math.inf}}, r"extra_body\.a: JSON has no inf"),
        ({"extra_body": {"a": HUGE}}, r"extra_body\.a: must be within 64 bits"),
        ({"extra_body": {"a": dt.date(2026, 1, 1)}}, r"extra_body\.a: JSON has no date .*in quotes"),
        ({"extra_body": {"a": b"x"}}, r"extra_body\.a: JSON has no bytes"),
    ],
)
def test_what_a_body_cannot_carry(sampling: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        _scenario(CLOSED, sampling=sampling)


def test_what_a_body_can_carry_is_left_as_it_is() -> None:
    body = {"a": [1, 2.5, None, True, {"b": "é"}], "c": 2**63 - 1}
    scenario = _scenario(CLOSED, sampling={"extra_body": body})
    assert next(scenario.schedule().arrivals).sampling == body


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (
            r'prompts: {source: text, text: ["Hi", "bad \ud83d"]}',
            r"a\.yaml:3: prompts\.text\[1\]: holds \\ud83d",
        ),
        (r'prompts: {source: text, text: "\udc00"}', r"a\.yaml:3: prompts\.text: holds \\udc00"),
        (
            'prompts: {source: text, text: Hi}\nsampling: {extra_body: {salt: "\\ud83d"}}',
            r"a\.yaml:4: sampling\.extra_body\.salt: holds \\ud83d",
        ),
        (
            'prompts: {source: text, text: Hi}\nsampling: {extra_body: {"k\\ud83d": 1}}',
            r"a\.yaml:4: sampling\.extra_body\.k\\ud83d: holds \\ud83d.*write the character itself",
        ),
    ],
)
def test_half_of_a_surrogate_pair_is_refused_with_its_key(tmp_path: Path, text: str, place: str) -> None:
    head = "name: a\nload: {arrivals: closed, concurrency: 1, requests: 1}\n"
    (tmp_path / "a.yaml").write_text(head + text + "\n", encoding="utf-8")
    with pytest.raises(ScenarioError, match=place) as caught:
        load_scenario(tmp_path / "a.yaml")
    assert str(caught.value).encode()


@pytest.mark.parametrize(
    ("stage", "faults"),
    [
        ({"rate": 0, "duration": "5s"}, "load.stages[0].rate: 0: a rate must be finite and greater than 0"),
        ({"target": 1, "duration": "5s"}, "load.stages[0].target: no such key; known: duration, rate, to"),
    ],
)
def test_a_faulty_stage_does_not_make_the_list_empty(stage: dict[str, Any], faults: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        _scenario({"arrivals": "stages", "stages": [stage]})
    assert str(caught.value).splitlines() == [f"scenario: {faults}"]


def test_a_list_that_is_empty_is_called_so() -> None:
    with pytest.raises(ScenarioError, match=r"load\.stages: must not be empty, not \[\]"):
        _scenario({"arrivals": "stages", "stages": []})


def test_no_more_slots_are_opened_than_there_are_requests() -> None:
    """And those that are open when they would have among the others."""
    schedule = _scenario(CLOSED | {"concurrency": 1_000_000, "requests": 3, "ramp": "2s"}).schedule()
    assert (schedule.concurrency, schedule.ramp_ns) == (3, 6_000)
    assert any("concurrency 1000000, of which 3 slots are opened" in note for note in schedule.notes)
    plain = _scenario(CLOSED | {"concurrency": 3, "requests": 3, "ramp": "2s"}).schedule()
    assert (plain.concurrency, plain.ramp_ns) == (3, 2_000_000_000)
    assert not any("slots are opened" in note for note in plain.notes)
