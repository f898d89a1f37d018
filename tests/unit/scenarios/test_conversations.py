"""Conversations as scenarios write them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from msgspec import structs

from scenarios.conversation import next_turn
from scenarios.errors import ScenarioError
from scenarios.request import Message, Prompt
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    from scenarios.request import Arrival
    from scenarios.scenario import Scenario

DATA = Path(__file__).parents[2] / "data" / "scenarios"
S = 1_000_000_000


def _scenario(prompts: dict[str, Any], endpoint: str = "chat", seed: int = 0, **load: Any) -> Scenario:
    load = {"arrivals": "closed", "concurrency": 2, "requests": 20, **load}
    data = {"name": "t", "endpoint": endpoint, "seed": seed, "load": load, "prompts": prompts}
    return scenario_from(data, folder=DATA)


def _synthetic(**keys: Any) -> dict[str, Any]:
    return {"source": "conversation", "turns": {"min": 1, "max": 4}, "length": 6, **keys}


def _arrivals(scenario: Scenario, count: int = 20) -> list[Arrival]:
    return list(itertools.islice(scenario.schedule().arrivals, count))


def _file(tmp_path: Path, text: str, **keys: Any) -> dict[str, Any]:
    path = tmp_path / "data"
    path.write_text(text)
    return {"source": "conversation_file", "file": str(path), **keys}


def test_turns_have_neighbouring_indices_and_one_key() -> None:
    expected = 0
    for number, arrival in enumerate(_arrivals(_scenario(_synthetic()))):
        assert [arrival.index, *(turn.index for turn in arrival.later)] == list(
            range(expected, expected + arrival.num_turns)
        )
        expected += arrival.num_turns
        turn = arrival
        while turn.later:
            assert turn.partition_key == number
            turn = next_turn(turn, "yes")
        assert (turn.partition_key, turn.turn, turn.num_turns) == (
            number,
            arrival.num_turns,
            arrival.num_turns,
        )


def test_a_request_by_itself_is_its_own_key() -> None:
    plain = _scenario({"source": "text", "text": "Hi"})
    assert [(each.conversation, each.partition_key) for each in _arrivals(plain, 3)] == [
        (None, 0),
        (None, 1),
        (None, 2),
    ]


def test_the_same_seed_gives_the_same_conversations() -> None:
    load = {"think_time": {"distribution": "lognormal", "mean": "2s", "stdev": "3s"}}
    scenario = _scenario(_synthetic(), **load)
    again = scenario_from(scenario.to_mapping())
    assert again == scenario
    assert _arrivals(scenario) == _arrivals(again)
    assert _arrivals(scenario) != _arrivals(_scenario(_synthetic(), seed=1, **load))


def test_lengths_and_system_prompts_are_as_asked() -> None:
    keys = {"first_length": 9, "system_length": 30, "num_systems": 2, "turns": 3}
    arrivals = _arrivals(_scenario(_synthetic(**keys), requests=120), 40)
    messages = [arrival.prompt.messages or () for arrival in arrivals]
    assert {len(each[0].content.split()) for each in messages} == {30}
    assert len({each[0].content for each in messages}) == 2
    assert {len(each[1].content.split()) for each in messages} == {9}
    said = [turn.follow_up.added[0].content for arrival in arrivals for turn in arrival.later]
    assert {len(each.split()) for each in said} == {6}
    assert len(set(said)) == len(said) == 80


def test_scripted_answers_stand_in_the_history() -> None:
    scripted = _synthetic(history="scripted", answer_length=5, turns=2)
    first = _arrivals(_scenario(scripted), 1)[0]
    messages = next_turn(first, "what the server said").prompt.messages or ()
    assert [each.role for each in messages] == ["user", "assistant", "user"]
    assert len(messages[1].content.split()) == 5
    assert "server" not in messages[1].content


def test_a_plain_text_prompt_can_begin_a_history() -> None:
    first = _arrivals(_scenario(_synthetic(turns=2)), 1)[0]
    plain = structs.replace(first, prompt=Prompt(text="Hello"))
    messages = next_turn(plain, "Hi").prompt.messages or ()
    assert messages[:2] == (Message("user", "Hello"), Message("assistant", "Hi"))


def test_files_hold_messages_or_sharegpt() -> None:
    schedule = _scenario({"source": "conversation_file", "file": "conversations.jsonl"}).schedule()
    arrivals = list(itertools.islice(schedule.arrivals, 3))
    assert [arrival.num_turns for arrival in arrivals] == [3, 2, 1]
    first = arrivals[0]
    assert [each.role for each in first.prompt.messages or ()] == ["system", "user"]
    assert [turn.think_ns for turn in first.later] == [1_500_000_000, 0]
    assert [first.sampling, *(turn.sampling for turn in first.later)] == [
        {"max_tokens": 4},
        {"max_tokens": 5},
        {},
    ]
    assert "6 prompts for 20 requests: repeated" in schedule.notes[-1]


def test_a_stated_think_time_wins_over_the_data() -> None:
    prompts = {"source": "conversation_file", "file": "conversations.jsonl", "history": "scripted"}
    first = _arrivals(_scenario(prompts, think_time="250ms"), 1)[0]
    assert [turn.think_ns for turn in first.later] == [250_000_000] * 2
    assert [turn.follow_up.answer for turn in first.later] == [
        "It stands in Fes.",
        "More than a thousand years.",
    ]


def test_a_sharegpt_list_and_a_limit_of_turns(tmp_path: Path) -> None:
    text = """[{"conversations": [{"from": "human", "value": "a b"}, {"from": "gpt", "value": "c"},
        {"from": "human", "value": "d"}, {"from": "gpt", "value": "e"}, {"from": "human", "value": "f"}]}]"""
    scenario = _scenario(_file(tmp_path, text, max_turns=2, repeat=False))
    schedule = scenario.schedule()
    assert schedule.num_requests == 2
    assert [arrival.num_turns for arrival in schedule.arrivals] == [2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"messages": [{"role": "wizard", "content": "x"}]}', "who is 'wizard'"),
        (
            '{"messages": [{"role": "user", "content": "x"}, {"role": "tool", "content": "y"}]}',
            "results of tools",
        ),
        ('{"messages": [{"role": "user", "content": null}]}', "without text"),
        ('{"messages": [{"role": "user", "content": "x", "delay_ms": -1}]}', "delay_ms"),
        ('{"messages": [{"role": "assistant", "content": "x"}]}', "holds no prompt"),
        ("[1]", r"data: Expected `object`"),
    ],
)
def test_faults_of_files_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        _scenario(_file(tmp_path, text)).schedule()


def test_conversations_need_a_chat_endpoint() -> None:
    with pytest.raises(ScenarioError, match="use endpoint: chat"):
        _scenario(_synthetic(), endpoint="completions").schedule()
    assert _scenario(_synthetic(), endpoint="responses").schedule().num_requests == 20


def test_think_time_without_conversations_is_refused() -> None:
    with pytest.raises(ScenarioError, match="think_time belongs to conversations"):
        _scenario({"source": "text", "text": "Hi"}, think_time="1s").schedule()


@pytest.mark.parametrize(
    ("think_time", "message"),
    [
        ("fast", "think_time"),
        (3, "has no unit"),
        ({"mean": "1s"}, "distribution: missing"),
        ({"distribution": "exponential"}, "needs mean"),
        ({"distribution": "uniform", "min": "1s"}, "needs max"),
        ({"distribution": "exponential", "mean": "1s", "stdev": "1s"}, "stdev has no meaning"),
        ({"distribution": "exponential", "mean": "5s", "max": "1s"}, "max 1s is less than 5s"),
        ({"distribution": "lognormal", "mean": "5s", "stdev": "0s"}, "longer than 0"),
    ],
)
def test_faults_of_think_times_are_named(think_time: Any, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        _scenario(_synthetic(), think_time=think_time)


@pytest.mark.parametrize(
    ("think_time", "mean_s", "stdev_s"),
    [
        ("2s", 2, 0),
        ({"distribution": "exponential", "mean": "2s"}, 2, 2),
        ({"distribution": "lognormal", "mean": "2s", "stdev": "1s"}, 2, 1),
        ({"distribution": "uniform", "min": "1s", "max": "3s"}, 2, 2 / 12**0.5),
    ],
)
def test_think_times_have_the_stated_distribution(think_time: Any, mean_s: float, stdev_s: float) -> None:
    load = _scenario(_synthetic(), think_time=think_time).load
    drawn = np.array(list(itertools.islice(load.think_times(np.random.default_rng(1)), 20_000))) / S
    assert drawn.mean() == pytest.approx(mean_s, rel=0.03)
    assert drawn.std() == pytest.approx(stdev_s, rel=0.05, abs=1e-9)


def test_a_longest_time_is_kept_without_piling_up() -> None:
    think_time = {"distribution": "exponential", "mean": "2s", "max": "3s"}
    load = _scenario(_synthetic(), think_time=think_time).load
    drawn = list(itertools.islice(load.think_times(np.random.default_rng(1)), 5_000))
    assert max(each or 0 for each in drawn) <= 3 * S
    assert len(set(drawn)) > 4_990
