"""What --set does to a scenario."""

from __future__ import annotations

import pytest

from scenarios.arrivals.closed import Closed
from scenarios.arrivals.poisson import Poisson
from scenarios.errors import ScenarioError
from scenarios.prompts.text import Text
from scenarios.scenario import load_scenario


def test_dotted_key_sets_a_value() -> None:
    scenario = load_scenario(
        "chat", {"load.rate": "5", "seed": "7", "sampling.max_tokens": "9", "name": "mine"}
    )
    assert isinstance(scenario.load, Poisson)
    assert (scenario.load.rate, scenario.seed, scenario.name) == (5, 7, "mine")
    assert scenario.sampling.max_tokens is not None
    assert scenario.sampling.max_tokens.constant == 9


def test_section_that_was_not_there_is_made() -> None:
    assert load_scenario("chat", {"tags.gpu": "H200", "tags.run": "3"}).tags == {"gpu": "H200", "run": "3"}


def test_lists_and_whole_sections_can_be_set() -> None:
    scenario = load_scenario(
        "chat",
        {
            "prompts": "{source: text, text: [one, two]}",
            "load": "{arrivals: closed, concurrency: 8, requests: 64}",
            "thresholds": "{ttft: 'p99 < 1s'}",
        },
    )
    assert isinstance(scenario.load, Closed)
    assert isinstance(scenario.prompts, Text)
    assert scenario.prompts.text == ("one", "two")
    assert scenario.thresholds == {"ttft": ("p99 < 1s",)}


@pytest.mark.parametrize("nothing", ["null", "", "~"])
def test_null_takes_a_key_away(nothing: str) -> None:
    overrides = {"load.requests": nothing, "load.duration": "10s", "thresholds": nothing}
    scenario = load_scenario("chat", overrides)
    assert scenario.load.requests is None
    assert scenario.thresholds == {}


def test_value_that_yaml_would_take_for_a_block_is_a_text() -> None:
    scenario = load_scenario("chat", {"thresholds.goodput": "> 0.9", "thresholds.error_rate": "< 1%"})
    assert scenario.thresholds["goodput"] == ("> 0.9",)
    assert scenario.thresholds["error_rate"] == ("< 1%",)


def test_later_loads_do_not_see_it() -> None:
    load_scenario("chat", {"load.rate": "5"})
    scenario = load_scenario("chat")
    assert isinstance(scenario.load, Poisson)
    assert scenario.load.rate == 2


def test_fault_of_a_section_names_what_was_set_in_it() -> None:
    with pytest.raises(
        ScenarioError, match=r"chat\.yaml:\d+, --set load\.duration: load: duration must be long"
    ):
        load_scenario("chat", {"load.duration": "0s"})
    with pytest.raises(ScenarioError, match=r"chat\.yaml:\d+, --set load\.requests: load: has no end"):
        load_scenario("chat", {"load.requests": "null"})
    with pytest.raises(
        ScenarioError, match=r"chat\.yaml:\d+, --set load\.duration, --set load\.warmup: load:"
    ):
        load_scenario("chat", {"load.duration": "10s", "load.warmup": "20s", "seed": "3"})


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("load.rat", "5", r"^--set: load\.rat: no such key of poisson; did you mean 'rate'\?$"),
        ("load.duration", "30", r"^--set: load\.duration: 30 has no unit"),
        ("load..rate", "5", r"^--set load\.\.rate: not a key; write it with dots"),
        ("name.x", "5", r"^--set name\.x: name is no section; set it as a whole$"),
        ("prompts.text.0", "5", r"^--set prompts\.text\.0: prompts\.text is no section"),
        (
            "load.arrivals",
            "constnt",
            r"^--set: load\.arrivals: 'constnt' is unknown; did you mean 'constant'\?$",
        ),
    ],
)
def test_fault_names_set(key: str, value: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        load_scenario("chat", {key: value})
