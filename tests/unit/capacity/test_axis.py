"""What a search varies, and what it refuses."""

from __future__ import annotations

import math
from typing import Any

import pytest

from harness.capacity.axis import at, axis_of, expected_s, least_load
from harness.capacity.budget import Budget
from harness.capacity.errors import CapacityError
from harness.capacity.search import Step
from harness.sla.grammar import rules_from
from scenarios.scenario import Scenario, scenario_from

OPEN = {"arrivals": "poisson", "rate": 4, "duration": "60s"}
CLOSED = {"arrivals": "closed", "concurrency": 8, "requests": 100}


def _scenario(load: dict[str, Any], **thresholds: str | list[str]) -> Scenario:
    return scenario_from(
        {
            "name": "x",
            "seed": 7,
            "load": load,
            "prompts": {"source": "text", "text": "hello"},
            "thresholds": thresholds or {"ttft": "p95 < 500ms"},
        }
    )


def _axis(scenario: Scenario) -> Any:
    return axis_of(scenario, rules_from(scenario.thresholds))


def test_the_rate_of_an_open_loop_and_the_slots_of_a_closed_one() -> None:
    assert _axis(_scenario(OPEN)) == ("load.rate", "requests/s", 4.0, False)
    assert _axis(_scenario(CLOSED)) == ("load.concurrency", "slots", 8.0, True)


@pytest.mark.parametrize(
    ("load", "thresholds", "word"),
    [
        (OPEN, {}, "states no objectives"),
        (OPEN, {"ttft": "p95 < 1s", "goodput": "> 5/s"}, "a small load misses it"),
        (OPEN, {"output_token_rate": "> 100 tokens/s"}, "a small load misses it"),
        ({"arrivals": "stages", "stages": [{"rate": 4, "duration": "9s"}]}, {"ttft": "p95 < 1s"}, "stages"),
    ],
)
def test_refuses_what_has_no_answer(load: dict[str, Any], thresholds: dict[str, str], word: str) -> None:
    scenario = _scenario(load, **(thresholds or {"ttft": "p95 < 1s"}))
    rules = rules_from(scenario.thresholds) if thresholds else ()
    with pytest.raises(CapacityError, match=word):
        axis_of(scenario, rules)


def test_shares_of_requests_are_objectives_as_any() -> None:
    assert _axis(_scenario(OPEN, attainment=">= 95%", ttft="p50 < 1s")).key == "load.rate"


def test_a_probe_is_the_scenario_at_another_load() -> None:
    scenario = _scenario(OPEN)
    probe = at(scenario, _axis(scenario), Step(12.5, 2.0), number=3)
    assert probe.load.rate == 12.5  # type: ignore[attr-defined]  # a Poisson load
    assert probe.load.duration == 120 * 10**9
    assert probe.seed == 10
    assert probe.load.stop is not None
    assert probe.load.stop.saturation == 30 * 10**9
    assert probe.thresholds == scenario.thresholds


def test_numbers_of_requests_grow_with_the_length_and_with_the_slots() -> None:
    scenario = _scenario(CLOSED)
    fewer = at(scenario, _axis(scenario), Step(2.0, 1.5), number=1)
    assert (fewer.load.concurrency, fewer.load.requests) == (2, 150)  # type: ignore[attr-defined]  # closed
    probe = at(scenario, _axis(scenario), Step(16.0, 1.5), number=1)
    assert (probe.load.concurrency, probe.load.requests) == (16, 300)  # type: ignore[attr-defined]  # closed
    assert probe.load.stop is None


def test_the_scenario_s_own_limits_are_kept() -> None:
    scenario = _scenario({**OPEN, "stop": {"error_share": "20%", "saturation": "9s"}})
    probe = at(scenario, _axis(scenario), Step(4, 1.0), number=1)
    assert probe.load.stop is not None
    assert (probe.load.stop.error_share, probe.load.stop.saturation) == (0.2, 9 * 10**9)


def test_no_two_probes_share_their_chance() -> None:
    scenario = _scenario(OPEN)
    axis = _axis(scenario)
    times = [
        [each.due_ns for each in at(scenario, axis, Step(4, 1.0), number).schedule().arrivals]
        for number in (1, 2)
    ]
    assert times[0] != times[1]


def test_how_long_a_probe_will_take() -> None:
    scenario = _scenario({"arrivals": "poisson", "rate": 4, "duration": "60s", "requests": 100})
    axis = _axis(scenario)
    assert expected_s(scenario, axis, Step(1, 1.0)) == 60
    assert expected_s(scenario, axis, Step(10, 2.0)) == 20
    closed = _scenario(CLOSED)
    assert expected_s(closed, _axis(closed), Step(8, 1.0)) is None


@pytest.mark.parametrize("stated", [["p95 <= baseline + 10 %"], ["p95 <= baseline + 10 %", "p95 < 1s"]])
def test_an_objective_relative_to_a_baseline_is_refused_as_such(stated: list[str]) -> None:
    scenario = _scenario(OPEN, ttft=stated)
    with pytest.raises(CapacityError, match=r"'ttft p95 <= baseline \+ 10 %': a search is held against no"):
        _axis(scenario)


RATES = "give requests per second, a number from 1e-09 to 1,000,000"
SLOTS = "give a whole number of slots, from 1 to 1,000,000"


@pytest.mark.parametrize(
    ("load", "fields", "message"),
    [
        (OPEN, {"precision": 0.0}, "precision 0"),
        (OPEN, {"precision": math.nan}, "precision nan"),
        (OPEN, {"max_probes": 1}, "1 probes"),
        (OPEN, {"lowest": -1.0}, f"--min -1: {RATES}"),
        (OPEN, {"lowest": math.nan}, f"--min nan: {RATES}"),
        (OPEN, {"start": math.nan}, f"--start nan: {RATES}"),
        (OPEN, {"start": math.inf}, f"--start inf: {RATES}"),
        (OPEN, {"highest": math.nan}, f"--max nan: {RATES}"),
        (OPEN, {"highest": math.inf}, f"--max inf: {RATES}"),
        (OPEN, {"highest": 0.0}, f"--max 0: {RATES}"),
        (OPEN, {"highest": 2e6}, f"--max 2e\\+06: {RATES}"),
        (OPEN, {"lowest": 5.0, "start": 4.0}, "--min 5, --start 4: the range must be lowest <= start"),
        (OPEN, {"lowest": 5.0, "highest": 4.0}, "--min 5, --max 4: the range must be"),
        (CLOSED, {"start": math.nan}, f"--start nan: {SLOTS}"),
        (CLOSED, {"start": 1.5}, f"--start 1.5: there are no parts of a slot; {SLOTS}"),
        (CLOSED, {"highest": 0.4}, f"--max 0.4: {SLOTS}"),
        (CLOSED, {"lowest": 0.0}, f"--min 0: {SLOTS}"),
    ],
)
def test_refuses_a_budget_that_can_not_be(load: dict[str, Any], fields: dict[str, Any], message: str) -> None:
    with pytest.raises(CapacityError, match=message):
        Budget(**fields).check(_axis(_scenario(load)))


@pytest.mark.parametrize(("load", "loads"), [(OPEN, (0.5, 0.5, 1e6)), (CLOSED, (1.0, 3.0, 1e6))])
def test_takes_a_budget_that_can_be(load: dict[str, Any], loads: tuple[float, float, float]) -> None:
    lowest, start, highest = loads
    Budget(lowest=lowest, start=start, highest=highest).check(_axis(_scenario(load)))


@pytest.mark.parametrize("more", [{}, {"warmup": "1s", "cooldown": "300ms"}])
def test_at_the_least_load_a_request_is_measured(more: dict[str, str]) -> None:
    """Else a search that finds every load too much would end in a refusal instead of its answer."""
    scenario = _scenario({"arrivals": "poisson", "rate": 10, "duration": "4s", **more})
    axis = _axis(scenario)
    least = least_load(scenario, axis)
    assert least < 0.5
    at(scenario, axis, Step(float(f"{least:.3g}"), 1.0), 1)
    assert least_load(_scenario(CLOSED), _axis(_scenario(CLOSED))) == 1.0
