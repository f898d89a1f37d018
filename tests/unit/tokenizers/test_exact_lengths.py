"""Prompts of exact length in tokens."""

from __future__ import annotations

import hashlib
import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from scenarios.errors import ScenarioError
from scenarios.scenario import Scenario, scenario_from
from scenarios.single_tokens import wording_of
from scenarios.vocabulary import WORDS
from tests.unit.tokenizers.conftest import Counted

if TYPE_CHECKING:
    from scenarios.schedule import Schedule
    from scenarios.tokenizers import TokenCounter

TRACES = Path(__file__).parents[2] / "data" / "traces"
SYNTHETIC = {"source": "synthetic", "length": {"min": 1, "max": 300}}
PREFIX = {"source": "shared_prefix", "prefix_length": 64, "length": {"min": 1, "max": 40}, "share": 0.5}
TALK = {"source": "conversation", "turns": {"min": 1, "max": 3}, "length": 20, "system_length": 33}
TRACE = {
    "source": "trace",
    "file": str(TRACES / "mooncake_conversation_head2000.jsonl"),
    "format": "mooncake",
}


def _scenario(prompts: dict[str, Any], requests: int = 40, **keys: Any) -> Scenario:
    load = {"arrivals": "constant", "rate": 10, "requests": requests}
    return scenario_from({"name": "t", "load": load, "prompts": prompts, **keys})


def _texts(schedule: Schedule) -> list[str]:
    return [arrival.prompt.text or "" for arrival in schedule.arrivals]


def _digest(scenario: Scenario) -> str:
    return hashlib.sha256(msgspec.json.encode(list(scenario.schedule().arrivals))).hexdigest()


@pytest.mark.parametrize("length", [1, 2, 17, 1000])
def test_A10_03_every_prompt_has_the_length_asked_for(bpe: TokenCounter, length: int) -> None:
    texts = _texts(_scenario({"source": "synthetic", "length": length}).schedule(bpe))
    assert set(bpe.count(texts)) == {length}
    assert len({text.split()[0] for text in texts}) == len(texts)


def test_A10_03_300_prompts_of_8192_tokens(bpe: TokenCounter) -> None:
    """More than are encoded before the load: the others are as exact."""
    schedule = _scenario({"source": "synthetic", "length": 8192}, 300).schedule(bpe)
    assert [note for note in schedule.notes if "the first 123 prompts were encoded again" in note]
    prompts = [arrival.prompt for arrival in schedule.arrivals]
    assert {prompt.num_tokens for prompt in prompts} == {8192}
    checked = [prompt.text or "" for prompt in prompts[:5] + prompts[118:128] + prompts[-5:]]
    assert set(bpe.count(checked)) == {8192}


@pytest.mark.parametrize("prompts", [SYNTHETIC, PREFIX, {**TRACE, "file": TRACE["file"]}])
def test_length_is_known_and_true(bpe: TokenCounter, prompts: dict[str, Any]) -> None:
    made = [a.prompt for a in _scenario(prompts, 12).schedule(bpe).arrivals]
    assert bpe.count([prompt.text or "" for prompt in made]) == [prompt.num_tokens for prompt in made]


def test_each_text_of_a_conversation_has_its_length(bpe: TokenCounter) -> None:
    schedule = _scenario(TALK).schedule(bpe)
    for arrival in schedule.arrivals:
        system, user = arrival.prompt.messages or ()
        later = [turn.follow_up.added[0].content for turn in arrival.later]
        assert bpe.count([system.content, user.content, *later]) == [33, 20, *[20] * len(later)]
        assert arrival.prompt.num_tokens == 53


@pytest.mark.parametrize("prompts", [SYNTHETIC, PREFIX, TRACE])
def test_where_every_character_is_a_token_lengths_are_exact_too(
    of_bytes: TokenCounter, prompts: dict[str, Any]
) -> None:
    made = [a.prompt for a in _scenario(prompts, 12).schedule(of_bytes).arrivals]
    texts = [prompt.text or "" for prompt in made]
    assert [len(text) for text in texts] == [prompt.num_tokens for prompt in made]
    assert texts == [text.strip() for text in texts]  # templates take blanks at the ends away


def test_shared_prefix_is_shared_in_tokens(of_bytes: TokenCounter, bpe: TokenCounter) -> None:
    for counter in (bpe, of_bytes):
        prompts = {**PREFIX, "num_prefixes": 2, "length": 10, "share": "50%"}
        schedule = _scenario(prompts, 100).schedule(counter)
        texts = _texts(schedule)
        wording = wording_of(counter)
        heads = [wording.shorten(text, 60) for text in texts if wording.length(text) == 74]
        assert len(set(heads)) == 2
        assert 30 < len(heads) < 70
        assert [
            note for note in schedule.notes if "in all 76.2 % of the tokens: a prefix cache can't" in note
        ]


def test_words_of_several_tokens_are_left_out_and_found_with_few_questions() -> None:
    def length(text: str) -> int:
        return sum(3 if word.startswith("s") else 1 for word in text.split())

    counter = Counted(length)
    words = set(wording_of(counter).random(5_000, _rng()).split())
    assert words
    assert not [word for word in words if word.startswith("s")]
    assert counter.num_counted < 2 * len(WORDS)


def test_tokens_that_span_words_are_mended() -> None:
    """Vocabularies exist in which two words in a row are one token."""

    def length(text: str) -> int:
        words = text.split()
        return len(words) - sum(one[-1] == two[0] for one, two in itertools.pairwise(words))

    counter = Counted(lambda text: length(text) if text.count(" ") < 700 else len(text.split()))
    wording = wording_of(counter)
    assert wording.length("one two") == 2
    schedule = _scenario({"source": "synthetic", "length": {"min": 1, "max": 60}}).schedule(counter)
    prompts = [arrival.prompt for arrival in schedule.arrivals]
    assert [length(prompt.text or "") for prompt in prompts] == [prompt.num_tokens for prompt in prompts]
    off = [abs(length(p.text or "") - want) for p, want in zip(prompts, _lengths(), strict=True)]
    assert max(off) <= 1
    assert sum(off) <= 4


def _lengths() -> list[int]:
    texts = _texts(_scenario({"source": "synthetic", "length": {"min": 1, "max": 60}}).schedule())
    return [len(text.split()) for text in texts]


def _rng() -> Any:
    from scenarios.seeds import generator

    return generator(0, "test")


def test_A10_03_misses_are_counted_and_told() -> None:
    """A tokenizer with an even number of tokens only."""
    counter = Counted(lambda text: (words := len(text.split())) + (words > 3 and words % 2))
    schedule = _scenario({"source": "synthetic", "length": 21}, 10).schedule(counter)
    assert schedule.notes == (
        (
            "prompt lengths are in tokens, counted by a stand-in, without what a chat template adds: "
            "all 10 prompts were encoded again before the load, 10 of them miss their length by up to 1"
        ),
    )
    assert {arrival.prompt.num_tokens for arrival in schedule.arrivals} <= {20, 22}


def test_vocabulary_without_our_words_is_refused_with_the_remedy() -> None:
    counter = Counted(lambda text: 2 * len(text))
    with pytest.raises(ScenarioError, match=r"one token for only 0 of our .* write prompts: \{unit: words\}"):
        _scenario(SYNTHETIC).schedule(counter)
    schedule = _scenario({**SYNTHETIC, "unit": "words"}).schedule(counter)
    assert [note for note in schedule.notes if "lengths are exact in words" in note]


def test_a_run_of_unknown_length_is_made_of_the_same_words(bpe: TokenCounter) -> None:
    load = {"arrivals": "closed", "concurrency": 4, "duration": "1h"}
    scenario = scenario_from({"name": "t", "load": load, "prompts": {"source": "synthetic", "length": 5}})
    schedule = scenario.schedule(bpe)
    note = "the first 1000 prompts were encoded again before the load, all are exact; later ones are made of"
    assert [each for each in schedule.notes if note in each]
    prompts = [next(schedule.arrivals).prompt for _ in range(1_500)]
    assert {prompt.num_tokens for prompt in prompts} == {5}
    assert set(bpe.count([prompt.text or "" for prompt in prompts])) == {5}


def test_prompts_beyond_the_budget_are_not_counted_before_the_load() -> None:
    counter = Counted(lambda text: len(text.split()))
    schedule = _scenario({"source": "synthetic", "length": 100_000}, 1_000).schedule(counter)
    assert counter.num_counted < len(WORDS) + 40
    assert [note for note in schedule.notes if "the first 10 prompts were encoded again" in note]


def test_open_loop_knows_how_many_prompts_it_takes(bpe: TokenCounter) -> None:
    load = {"arrivals": "poisson", "rate": 20, "duration": "3s"}
    scenario = scenario_from({"name": "t", "load": load, "prompts": SYNTHETIC})
    num = len(list(scenario.schedule().arrivals))
    assert [note for note in scenario.schedule(bpe).notes if f"all {num} prompts were encoded" in note]


def test_A10_01_reply_lengths_are_in_tokens_where_somebody_counts(bpe: TokenCounter, tmp_path: Path) -> None:
    reply = "supercalifragilistic reply here"
    turns = [{"from": "human", "value": "Why?"}, {"from": "gpt", "value": reply}]
    (tmp_path / "s.json").write_bytes(msgspec.json.encode([{"conversations": turns}]))
    scenario = _scenario({"source": "sharegpt", "file": str(tmp_path / "s.json")}, 1)
    limits = [next(scenario.schedule(each).arrivals).sampling["max_tokens"] for each in (None, bpe)]
    assert limits == [3, bpe.count([reply])[0]]
    assert limits[1] > 3


def test_answers_of_a_conversation_are_limits_in_tokens_too(bpe: TokenCounter, tmp_path: Path) -> None:
    said = [("user", "Why?"), ("assistant", "supercalifragilistic"), ("user", "So?"), ("assistant", "a b c")]
    line = msgspec.json.encode({"messages": [{"role": role, "content": text} for role, text in said]})
    (tmp_path / "c.jsonl").write_bytes(line)
    scenario = _scenario({"source": "conversation_file", "file": str(tmp_path / "c.jsonl")}, 1)
    for counter, unit in ((None, "words"), (bpe, "tokens")):
        schedule = scenario.schedule(counter)
        first = next(schedule.arrivals)
        limits = [each.sampling["max_tokens"] for each in (first, *first.later)]
        assert limits == ([1, 3] if counter is None else bpe.count([text for _, text in said[1::2]]))
        assert [note for note in schedule.notes if f"the number of {unit} of its answer" in note]


def test_replies_that_are_too_many_to_count_are_in_words_and_it_says_so(tmp_path: Path) -> None:
    turns = [{"from": "human", "value": "Why?"}, {"from": "gpt", "value": "one two " * 600_000}]
    (tmp_path / "s.json").write_bytes(msgspec.json.encode([{"conversations": turns}]))
    counter = Counted(len)
    schedule = _scenario({"source": "sharegpt", "file": str(tmp_path / "s.json")}, 1).schedule(counter)
    assert next(schedule.arrivals).sampling["max_tokens"] == 1_200_000
    assert [note for note in schedule.notes if "the number of words of its reply" in note]
    assert counter.num_counted == 1  # the prompt


def test_given_prompts_are_counted(bpe: TokenCounter, tmp_path: Path) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why so?"}]
    (tmp_path / "p.jsonl").write_bytes(msgspec.json.encode({"messages": messages}) + b'\n"Hello there"\n')
    schedule = _scenario({"source": "jsonl", "file": str(tmp_path / "p.jsonl")}, 2).schedule(bpe)
    lengths = [arrival.prompt.num_tokens for arrival in schedule.arrivals]
    assert lengths == [sum(bpe.count(["Be brief.", "Why so?"])), *bpe.count(["Hello there"])]


@pytest.mark.parametrize("prompts", [SYNTHETIC, PREFIX, TALK, TRACE], ids=lambda each: str(each["source"]))
def test_R10_same_seed_gives_the_same_bytes_in_tokens(
    bpe: TokenCounter, prompts: dict[str, Any], of_bytes: TokenCounter
) -> None:
    for counter in (bpe, of_bytes):
        one, two, other = (
            [a.prompt for a in _scenario(prompts, 8, seed=seed).schedule(counter).arrivals]
            for seed in (5, 5, 6)
        )
        assert msgspec.json.encode(one) == msgspec.json.encode(two)
        assert msgspec.json.encode(one) != msgspec.json.encode(other)


def test_R10_schedule_in_tokens_is_the_same_bytes_in_every_process(byte_level_bpe: Path) -> None:
    keys = {"tokenizer": str(byte_level_bpe), "seed": 3}
    program = (
        "import hashlib, msgspec, sys; from scenarios.scenario import scenario_from;"
        "s = scenario_from(msgspec.json.decode(sys.argv[1]));"
        "print(hashlib.sha256(msgspec.json.encode(list(s.schedule().arrivals))).hexdigest())"
    )
    scenario = _scenario(SYNTHETIC, **keys)
    mapping = msgspec.json.encode(scenario.to_mapping()).decode()
    run = subprocess.run(
        [sys.executable, "-c", program, mapping],
        env={**os.environ, "PYTHONHASHSEED": "77"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == _digest(scenario)


def test_arrivals_and_limits_do_not_move_with_the_tokenizer(bpe: TokenCounter) -> None:
    scenario = _scenario(SYNTHETIC, sampling={"max_tokens": {"min": 1, "max": 99}})
    in_words, in_tokens = (list(scenario.schedule(counter).arrivals) for counter in (None, bpe))
    assert [(a.due_ns, a.sampling) for a in in_words] == [(a.due_ns, a.sampling) for a in in_tokens]


@pytest.mark.parametrize(
    ("load", "checked"),
    [
        (
            {"arrivals": "closed", "concurrency": 2, "requests": 12},
            "the first 4 conversations (12 turns) were",
        ),
        (
            {"arrivals": "closed", "concurrency": 2, "requests": 11},
            "the first 4 conversations (12 turns) were",
        ),
        ({"arrivals": "constant", "rate": 1, "duration": "5s"}, "all 5 conversations (15 turns) were"),
    ],
)
def test_as_many_conversations_are_encoded_as_the_run_takes(
    bpe: TokenCounter, load: dict[str, Any], checked: str
) -> None:
    prompts = {"source": "conversation", "turns": 3, "length": 9}
    notes = scenario_from({"name": "t", "load": load, "prompts": prompts}).schedule(bpe).notes
    assert [note for note in notes if f"{checked} encoded again before the load, all are exact" in note]
