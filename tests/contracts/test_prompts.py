"""What every prompt source keeps to, whichever files the folder holds."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from scenarios import prompts
from scenarios.errors import ScenarioError
from scenarios.scenario import Scenario, scenario_from
from scenarios.seeds import generator

if TYPE_CHECKING:
    from scenarios.prompts import PromptSource
    from scenarios.request import Prompt

KINDS = prompts.kinds.names
DATA = Path(__file__).parents[1] / "data" / "scenarios"


def _scenario(kind: str, **keys: Any) -> Scenario:
    fields = prompts.kinds.load(kind).model_fields.items()
    examples = {
        name: yaml.safe_load(str(field.examples[0]))
        for name, field in fields
        if field.is_required() and field.examples
    }
    load = {"arrivals": "constant", "rate": 10, "requests": 40}
    data = {"name": kind, "load": load, "prompts": {**examples, "source": kind, **keys}}
    return scenario_from(data, folder=DATA)


def _first(source: PromptSource, count: int, seed: int = 1) -> list[Prompt]:
    return list(itertools.islice(source.open(generator(seed, "prompts")).prompts, count))


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_folder_is_found() -> None:
    assert {"text", "synthetic", "jsonl"} <= set(KINDS)


def test_every_required_key_has_an_example(kind: str) -> None:
    """Messages about a missing key show how to write it."""
    fields = prompts.kinds.load(kind).model_fields
    assert not [n for n, f in fields.items() if n != "source" and f.is_required() and not f.examples]


def test_same_seed_gives_same_prompts(kind: str) -> None:
    source = _scenario(kind).prompts
    assert _first(source, 40) == _first(source, 40)


def test_each_prompt_has_one_content_that_is_not_empty(kind: str) -> None:
    for prompt in _first(_scenario(kind).prompts, 40):
        contents = [prompt.text, prompt.messages, prompt.token_ids]
        assert [content is not None for content in contents].count(True) == 1
        assert any(contents)


def test_number_of_prompts_is_true(kind: str) -> None:
    source = _scenario(kind).prompts
    stream = source.open(generator(1, "prompts"))
    taken = list(itertools.islice(stream.prompts, 200))
    if (count := stream.num_prompts) is None:
        assert len(set(taken)) == 200
    elif stream.repeats:
        assert set(taken[:count]) == set(taken[count : 2 * count])
    else:
        assert len(taken) == min(count, 200)


def test_conversations_are_declared(kind: str) -> None:
    stream = _scenario(kind).prompts.open(generator(1, "prompts"))
    assert stream.chat_only == any(p.messages is not None for p in itertools.islice(stream.prompts, 40))


def test_unknown_key_is_refused(kind: str) -> None:
    with pytest.raises(ScenarioError, match=r"prompts\.colour: no such key"):
        _scenario(kind, colour="red")


def test_written_out_and_read_back_it_is_the_same(kind: str) -> None:
    scenario = _scenario(kind)
    assert scenario_from(scenario.to_mapping(), folder=DATA) == scenario
