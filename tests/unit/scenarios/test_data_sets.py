"""Prompts from data sets in other people's forms, and prompts that begin alike."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from scenarios.errors import ScenarioError
from scenarios.request import Arrival, Message
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    from scenarios.schedule import Schedule

DATA = Path(__file__).parents[2] / "data" / "scenarios"


def _schedule(folder: Path = DATA, **prompts: Any) -> Schedule:
    load = {"arrivals": "closed", "concurrency": 1, "requests": 100}
    return scenario_from({"name": "test", "load": load, "prompts": prompts}, folder=folder).schedule()


def _write(folder: Path, value: object) -> None:
    (folder / "data.json").write_text(json.dumps(value), encoding="utf-8")


def _limits(arrivals: list[Arrival]) -> list[int | None]:
    return [arrival.sampling.get("max_tokens") for arrival in arrivals]


def test_openai_batch_gives_messages_and_limits() -> None:
    arrivals = list(_schedule(source="openai_batch", file="batch.jsonl", repeat=False).arrivals)
    assert [arrival.prompt.messages for arrival in arrivals] == [
        (Message("user", "Name a river."),),
        (Message("user", "Name a lake."),),
    ]
    assert _limits(arrivals) == [20, 30]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, r"data\.json:1: needs either 'prompt' or 'messages'"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "content of type 'image_url'"),
        ({"messages": [{"content": "Hi"}]}, r"missing required field `role` - at `\$\.body\.messages\[0\]`"),
        ({"prompt": ""}, "the prompt is empty"),
        ({"prompt": "a", "max_tokens": -1}, "max_tokens must be at least 1, not -1"),
    ],
)
def test_openai_batch_fault_names_the_line(tmp_path: Path, body: dict[str, Any], message: str) -> None:
    _write(tmp_path, {"custom_id": "1", "body": body})
    with pytest.raises(ScenarioError, match=message):
        _schedule(tmp_path, source="openai_batch", file="data.json")


def test_sharegpt_gives_first_questions() -> None:
    schedule = _schedule(source="sharegpt", file="sharegpt.json", repeat=False)
    arrivals = list(schedule.arrivals)
    assert [arrival.prompt.text for arrival in arrivals] == ["What is a cache?", "And a queue?"]
    assert any("number of words of its reply" in note for note in schedule.notes)


def test_A10_01_sharegpt_reply_lengths_are_the_limits(tmp_path: Path) -> None:
    """Not one cap for all."""
    question = {"from": "human", "value": "Why?"}
    replies = [{"from": "gpt", "value": " ".join(["word"] * count)} for count in (12, 300)]
    _write(tmp_path, [{"conversations": [question, reply]} for reply in replies])
    schedule = _schedule(tmp_path, source="sharegpt", file="data.json", repeat=False)
    assert _limits(list(schedule.arrivals)) == [12, 300]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "holds no prompt"),
        ({}, r"data\.json: Expected `array`, got `object`"),
        ([{"conversations": [{"value": "Why?"}]}], r"missing required field `from` - at `\$\[0\]\.conv"),
    ],
)
def test_sharegpt_fault_names_the_place(tmp_path: Path, value: object, message: str) -> None:
    _write(tmp_path, value)
    with pytest.raises(ScenarioError, match=message):
        _schedule(tmp_path, source="sharegpt", file="data.json")


def _words(count: int, **keys: Any) -> list[list[str]]:
    schedule = _schedule(source="shared_prefix", **keys)
    return [(a.prompt.text or "").split() for a in itertools.islice(schedule.arrivals, count)]


def test_shared_prefix_is_shared_by_all_and_nothing_else_is() -> None:
    texts = _words(50, prefix_length=40, length=10)
    assert {len(text) for text in texts} == {50}
    assert len({tuple(text[:40]) for text in texts}) == 1
    assert len({text[40] for text in texts}) == 50


def test_shared_prefixes_are_as_many_and_as_frequent_as_stated() -> None:
    texts = _words(100, prefix_length=40, length=10, num_prefixes=3, share="50%")
    prefixes = [tuple(text[:40]) for text in texts if len(text) == 50]
    assert len(set(prefixes)) == 3
    assert 35 <= len(prefixes) <= 65
    assert {len(text) for text in texts} == {10, 50}
