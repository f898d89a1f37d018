"""The prompt sources, each on its own."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest

from scenarios.errors import ScenarioError
from scenarios.request import Arrival, Message
from scenarios.scenario import Scenario, scenario_from
from scenarios.vocabulary import WORDS

if TYPE_CHECKING:
    from pathlib import Path

LOAD = {"arrivals": "constant", "rate": 10, "requests": 100}


def _scenario(
    prompts: dict[str, Any], folder: Path | None = None, load: dict[str, Any] | None = None, **keys: Any
) -> Scenario:
    return scenario_from({"name": "test", "load": load or LOAD, "prompts": prompts, **keys}, folder=folder)


def _texts(scenario: Scenario, count: int) -> list[str]:
    arrivals = itertools.islice(scenario.schedule().arrivals, count)
    return [arrival.prompt.text or "" for arrival in arrivals]


def _write(folder: Path, *lines: object) -> None:
    (folder / "p.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def test_vocabulary_has_no_word_twice() -> None:
    assert len(set(WORDS)) == len(WORDS) > 500


def test_synthetic_lengths_are_exact_in_words() -> None:
    prompts = {"source": "synthetic", "length": {"min": 1, "max": 40}}
    lengths = [len(text.split()) for text in _texts(_scenario(prompts), 100)]
    assert (min(lengths), max(lengths)) == (1, 40)
    assert {len(text.split()) for text in _texts(_scenario({"source": "synthetic", "length": 37}), 100)} == {
        37
    }


def test_synthetic_says_what_its_lengths_are_in() -> None:
    notes = _scenario({"source": "synthetic", "length": 5}).schedule().notes
    assert any("exact in words" in note for note in notes)


def test_synthetic_prompts_differ_from_the_first_word_on() -> None:
    """So that a prefix cache can't help: the first word is new until all words have been first."""
    load = {"arrivals": "closed", "concurrency": 1, "duration": "1h"}
    texts = _texts(_scenario({"source": "synthetic", "length": 5}, load=load), 3 * len(WORDS))
    for start in range(0, len(texts), len(WORDS)):
        assert len({text.split()[0] for text in texts[start : start + len(WORDS)]}) == len(WORDS)
    assert len({tuple(text.split()[:2]) for text in texts}) == len(texts)


def test_lengths_in_tokens_need_a_tokenizer() -> None:
    scenario = _scenario({"source": "synthetic", "length": 5, "unit": "tokens"})
    with pytest.raises(ScenarioError, match=r"lengths in tokens need a tokenizer; write tokenizer: server"):
        scenario.schedule()


def test_text_goes_round() -> None:
    assert _texts(_scenario({"source": "text", "text": ["a", "b", "c"]}), 7) == list("abcabca")


def test_text_at_random_uses_each_equally_often() -> None:
    scenario = _scenario({"source": "text", "text": list("abcdef"), "order": "random"})
    texts = "".join(_texts(scenario, 60))
    rounds = [texts[start : start + 6] for start in range(0, 60, 6)]
    assert all(sorted(each) == list("abcdef") for each in rounds)
    assert len(set(rounds)) > 5


def test_text_states_that_it_repeats() -> None:
    notes = _scenario({"source": "text", "text": ["a", "b"]}).schedule().notes
    assert notes == ("2 prompts for 100 requests: repeated; a prefix cache may answer repeats faster",)


@pytest.mark.parametrize("text", ["", " ", ["a", ""], []])
def test_empty_prompt_is_refused(text: object) -> None:
    with pytest.raises(ScenarioError, match=r"prompts\.text: (holds an empty prompt|must be a text)"):
        _scenario({"source": "text", "text": text})


def test_jsonl_reads_strings_prompts_and_conversations(tmp_path: Path) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
    _write(tmp_path, "plain", {"prompt": "named", "other": 1}, {"messages": messages})
    prompts = [
        a.prompt for a in _scenario({"source": "jsonl", "file": "p.jsonl"}, tmp_path).schedule().arrivals
    ]
    assert [prompt.text for prompt in prompts[:3]] == ["plain", "named", None]
    assert prompts[2].messages == (Message("system", "Be brief."), Message("user", "Why?"))


def test_jsonl_splits_lines_at_line_feeds_alone(tmp_path: Path) -> None:
    """U+2028 and U+0085 are text inside a JSON string."""
    text = "one\u2028two\u0085three"
    (tmp_path / "p.jsonl").write_text(json.dumps(text, ensure_ascii=False) + "\r\n", encoding="utf-8")
    assert _texts(_scenario({"source": "jsonl", "file": "p.jsonl"}, tmp_path), 1) == [text]


def _limits(arrivals: list[Arrival]) -> list[int | None]:
    return [arrival.sampling.get("max_tokens") for arrival in arrivals]


def test_A10_01_reply_length_of_the_data_set_is_the_limit_unless_one_is_stated(tmp_path: Path) -> None:
    _write(tmp_path, {"prompt": "a", "max_tokens": 12}, {"prompt": "b", "max_tokens": 300}, {"prompt": "c"})
    prompts = {"source": "jsonl", "file": "p.jsonl", "repeat": False}
    theirs = _scenario(prompts, tmp_path).schedule()
    ours = _scenario(prompts, tmp_path, sampling={"max_tokens": 64}).schedule()
    assert _limits(list(theirs.arrivals)) == [12, 300, None]
    assert _limits(list(ours.arrivals)) == [64, 64, 64]


def test_A10_06_filter_that_leaves_nothing_is_an_error_before_load(tmp_path: Path) -> None:
    _write(tmp_path, *["far too long a prompt"] * 5)
    scenario = _scenario({"source": "jsonl", "file": "p.jsonl", "max_words": 3}, tmp_path)
    with pytest.raises(
        ScenarioError, match=r"none of its 5 prompts is left by .* max_words 3; they have 5 to 5"
    ):
        scenario.schedule()


def test_A10_06_fewer_prompts_than_requests_repeat_and_say_so(tmp_path: Path) -> None:
    _write(tmp_path, "a", "b", "c", "far too long", "far too long")
    schedule = _scenario({"source": "jsonl", "file": "p.jsonl", "max_words": 1}, tmp_path).schedule()
    assert schedule.num_requests == 100
    assert schedule.notes == (
        "p.jsonl: 2 of 5 prompts left out by length",
        "3 prompts for 100 requests: repeated; a prefix cache may answer repeats faster",
    )
    assert len(list(schedule.arrivals)) == 100


def test_A10_06_without_repetition_the_run_ends_early_and_says_so(tmp_path: Path) -> None:
    _write(tmp_path, "a", "b", "c")
    schedule = _scenario({"source": "jsonl", "file": "p.jsonl", "repeat": False}, tmp_path).schedule()
    assert schedule.num_requests == 3
    assert schedule.notes == ("3 prompts for 100 requests: the run ends after the last prompt",)
    assert len(list(schedule.arrivals)) == 3


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"p\.jsonl:2: .*truncated"),
        ('{"prompt": 5}', r"p\.jsonl:2: Expected `str \| null`, got `int` - at `\$\.prompt`"),
        ("[1]", r"p\.jsonl:2: Expected `object`, got `array`"),
        ("{}", r"p\.jsonl:2: needs either 'prompt' or 'messages'"),
        ('{"prompt": "a", "messages": []}', "needs either"),
        ('{"prompt": "  "}', r"p\.jsonl:2: the prompt is empty"),
        ('{"messages": []}', "the prompt is empty"),
        ('{"prompt": "a", "max_tokens": 0}', "max_tokens must be at least 1, not 0"),
        ('"\xff"', r"p\.jsonl:2: "),
    ],
)
def test_jsonl_fault_names_the_line(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "p.jsonl").write_bytes(b'"fine"\n' + line.encode("latin-1") + b"\n")
    scenario = _scenario({"source": "jsonl", "file": "p.jsonl"}, tmp_path)
    with pytest.raises(ScenarioError, match=message):
        scenario.schedule()


def test_jsonl_without_a_line_is_refused(tmp_path: Path) -> None:
    _write(tmp_path)
    with pytest.raises(ScenarioError, match="holds no prompt"):
        _scenario({"source": "jsonl", "file": "p.jsonl"}, tmp_path).schedule()


def test_conversations_are_refused_for_completions_before_load(tmp_path: Path) -> None:
    _write(tmp_path, {"messages": [{"role": "user", "content": "Hi"}]})
    scenario = _scenario({"source": "jsonl", "file": "p.jsonl"}, tmp_path, endpoint="completions")
    with pytest.raises(ScenarioError, match="conversations, which the completions endpoint doesn't take"):
        scenario.schedule()
