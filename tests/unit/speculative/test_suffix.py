"""Suffix decoding against its specification, written as loops over all there is."""

from __future__ import annotations

import gc
import math
import random
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from reference_server.engine.request import EngineRequest
from reference_server.engine.sequence import Sequence
from reference_server.speculative import SpeculativeConfigError, speculative_config
from reference_server.speculative.suffix import SuffixConfig, SuffixProposer
from reference_server.speculative.texts import place_index
from reference_server.speculative.texts.past_texts import PastTexts

MakeRequest = Callable[..., EngineRequest]
MakeSequence = Callable[..., Sequence]
Text = tuple[list[int], int]
"""Tokens, and how many of them are no output."""

END = -1
WISHES: tuple[dict[str, Any], ...] = (
    {},
    {"max_tree_depth": 6},
    {"max_tree_depth": 2},
    {"max_spec_factor": 3.0},
    {"max_spec_factor": 0.4},
    {"min_token_prob": 0.0},
    {"min_token_prob": 0.6},
    {"min_token_prob": 1.0, "max_spec_factor": 8.0},
)


def config(num_speculative_tokens: int = 8, **settings: Any) -> SuffixConfig:
    keys = {f"suffix_decoding_{key}": value for key, value in settings.items()}
    made = speculative_config({"method": "suffix", "num_speculative_tokens": num_speculative_tokens, **keys})
    assert isinstance(made, SuffixConfig)
    return made


@pytest.fixture
def make_sequence(make_request: MakeRequest) -> MakeSequence:
    """``make_sequence(prompt, output=(), **request)``."""

    def make(
        prompt: list[int], output: list[int] | tuple[int, ...] = (), salt: str | None = None
    ) -> Sequence:
        request = make_request(prompt=prompt)
        sequence = Sequence(request)
        sequence.cache_salt = salt
        for token_id in output:
            sequence.append(token_id)
        return sequence

    return make


# The specification.


def shared_length(before: list[int], tokens: list[int], max_match: int) -> int:
    length = 0
    while length < min(len(before), len(tokens), max_match) and before[-1 - length] == tokens[-1 - length]:
        length += 1
    return length


def specified_matches(
    tokens: list[int], past: list[Text], max_match: int, count: int, max_places: int
) -> list[tuple[int, list[int]]]:
    """Length and continuation at the latest places of the longest key that is found anywhere."""
    for key in (8, 3, 1):
        if key > min(max_match, len(tokens)):
            continue
        own = []
        for place in range(len(tokens) - 1, -1, -1):
            period = len(tokens) - place
            own.append((tokens[:place], [tokens[place + n % period] for n in range(count)]))
        others = [
            (text[:place], [*text[place:], END][:count])
            for text, first in reversed(past)
            for place in range(len(text) - 1, first - 1, -1)
        ]
        found = []
        for places in (own, others):
            matches = [(shared_length(before, tokens, max_match), after) for before, after in places]
            found += [match for match in matches if match[0] >= key][:max_places]
        if found:
            return found
    return []


def specified_draft(
    tokens: list[int], past: list[Text], config: SuffixConfig, limit: int, max_places: int
) -> list[int]:
    """Of the drafts after all lengths of a match, the one with the largest sum of chances."""
    drafts = []
    matches = specified_matches(tokens, past, config.max_match, limit, max_places)
    for length in range(config.max_match, 0, -1):
        seen = [after for match, after in matches if match >= length]
        room = min(limit, math.floor(length * config.suffix_decoding_max_spec_factor))
        room = min(room, config.suffix_decoding_max_tree_depth - length)
        draft: list[int] = []
        chances: list[float] = []
        while len(draft) < room:
            agreeing = [after for after in seen if after[: len(draft)] == draft]
            votes = Counter(after[len(draft)] for after in agreeing if after[len(draft)] != END)
            if not votes:
                break
            token, count = votes.most_common(1)[0]
            if count / len(seen) < config.suffix_decoding_min_token_prob:
                break
            draft.append(token)
            chances.append(count / len(seen))
        drafts.append((sum(chances), length, draft))
    return max(drafts)[2] if drafts else []


@pytest.mark.parametrize("wish", WISHES, ids=str)
@pytest.mark.parametrize("vocab_size", [2, 3, 8])
def test_drafts_are_those_of_the_specification(
    make_sequence: MakeSequence, monkeypatch: pytest.MonkeyPatch, vocab_size: int, wish: dict[str, Any]
) -> None:
    """Over all places there are, while the sequence grows by any number of tokens and others end."""
    monkeypatch.setattr(place_index, "MAX_PLACES", 10_000)
    rng = random.Random(vocab_size)
    settings = config(rng.choice([3, 8]), **wish)
    proposer, past = SuffixProposer(settings), list[Text]()
    num_drafted = 0
    for number in range(12):
        prompt = [rng.randrange(vocab_size) for _ in range(rng.randint(1, 30))]
        sequence = make_sequence(prompt)
        for _ in range(12):
            for _ in range(rng.randint(1, 6)):
                sequence.append(rng.randrange(vocab_size))
            limit = rng.randint(1, settings.num_speculative_tokens)
            expected = specified_draft(sequence.token_ids, past, settings, limit, 10_000)
            assert proposer.propose({sequence: limit}) == ({sequence: expected} if expected else {}), number
            num_drafted += len(expected)
        proposer.ended(sequence)
        num_context = min(settings.max_match, len(prompt))
        past.append((sequence.token_ids[len(prompt) - num_context :], num_context))
    assert num_drafted > 10


def test_only_the_latest_places_count(make_sequence: MakeSequence, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place_index, "MAX_PLACES", 3)
    proposer = SuffixProposer(config())
    sequence = make_sequence([5, 1, 8, 6, 1, 8, 7, 1, 8, 2, 1, 9, 3, 1, 9, 4, 1])
    assert proposer.propose({sequence: 1}) == {sequence: [9]}


@pytest.mark.parametrize(
    ("token_ids", "expected"),
    [
        ([1, 2, 3, 4, 9, 1, 2], [3, 4]),
        ([1, 2, 3, 5, 1, 2, 4, 6, 1, 2, 3, 7, 1, 2], [3, 7]),
        ([1, 2, 3], []),
        ([1], []),
        ([7, 7, 7, 7], [7, 7, 7]),
        ([1, 2, 1, 2, 1, 2], [1, 2, 1, 2]),
    ],
    ids=["as long as the match", "most often", "nothing repeats", "one token", "one again", "a loop"],
)
def test_what_mostly_followed(make_sequence: MakeSequence, token_ids: list[int], expected: list[int]) -> None:
    sequence = make_sequence(token_ids)
    assert SuffixProposer(config()).propose({sequence: 8}).get(sequence, []) == expected


def test_an_answer_that_was_given_is_guessed_from_its_first_token_on(make_sequence: MakeSequence) -> None:
    """The end of the prompt is remembered with it, so the first match is as long as can be."""
    proposer, rng = SuffixProposer(config(8)), random.Random(1)
    prompt, answer = (rng.sample(range(10_000), 40) for _ in range(2))
    proposer.ended(make_sequence(prompt, answer))
    again = make_sequence(prompt, answer[:1])
    assert proposer.propose({again: 8}) == {again: answer[1:9]}
    for token_id in answer[1:37]:
        again.append(token_id)
    assert proposer.propose({again: 8}) == {again: answer[37:]}, "no further than it went"


def test_of_several_answers_the_usual_one_is_guessed_as_far_as_it_is_likely(
    make_sequence: MakeSequence,
) -> None:
    proposer = SuffixProposer(config(8, min_token_prob=0.5))
    for end in ([5, 6], [5, 6], [5, 9], [8, 8]):
        proposer.ended(make_sequence([1, 2], [3, 4, *end]))
    sequence = make_sequence([1, 2], [3, 4])
    assert proposer.propose({sequence: 8}) == {sequence: [5, 6]}
    strict = SuffixProposer(config(8, min_token_prob=0.51))
    strict._past = proposer._past
    assert strict.propose({sequence: 8}) == {sequence: [5]}


def test_prompts_of_others_are_never_drafted(make_sequence: MakeSequence) -> None:
    proposer = SuffixProposer(config())
    proposer.ended(make_sequence([1, 2, 3, 4, 5, 6], [9]))
    proposer.ended(make_sequence([1, 2, 3, 4, 5, 6]))
    assert proposer.propose({make_sequence([1, 2, 3]): 4}) == {}
    assert len(proposer._past) == 1, "what gave no output leaves nothing"


@pytest.mark.parametrize(("first", "second"), [("a", None), (None, "a"), ("a", "b"), ("a", "a")])
def test_salted_requests_and_others_share_nothing(
    make_sequence: MakeSequence, first: str | None, second: str | None
) -> None:
    proposer = SuffixProposer(config())
    proposer.ended(make_sequence([1, 2], [3, 4, 5], salt=first))
    assert proposer.propose({make_sequence([1, 2], [3], salt=second): 4}) == {}


def test_zero_requests_are_remembered_where_none_are_wanted(make_sequence: MakeSequence) -> None:
    proposer = SuffixProposer(config(max_cached_requests=0))
    proposer.ended(make_sequence([1, 2], [3, 4, 5]))
    assert proposer.propose({make_sequence([1, 2], [3]): 4}) == {}


def test_a_sequence_leaves_no_object_whether_or_not_its_end_was_told(make_sequence: MakeSequence) -> None:
    proposer = SuffixProposer(config())
    told, untold = make_sequence([1, 2, 3]), make_sequence([1, 2, 3])
    proposer.propose({told: 1, untold: 1})
    proposer.ended(told)
    references = [weakref.ref(told), weakref.ref(untold)]
    del told, untold
    gc.collect()
    assert [reference() for reference in references] == [None, None]
    assert len(proposer._texts) == 0


def test_the_same_history_gives_the_same_drafts_whatever_was_asked_between(
    make_sequence: MakeSequence,
) -> None:
    """A preempted sequence is not asked for, and goes on with all it had."""
    rng = random.Random(3)
    texts = [[rng.randrange(5) for _ in range(60)] for _ in range(8)]
    drafts = []
    for every in (1, 1, 7):
        proposer, found = SuffixProposer(config()), []
        for text in texts:
            sequence = make_sequence(text[:10])
            for number, token_id in enumerate(text[10:]):
                if number % every == 0:
                    draft = proposer.propose({sequence: 6})
                    if number % 7 == 0:
                        found.append(draft.get(sequence))
                sequence.append(token_id)
            proposer.ended(sequence)
        drafts.append(found)
    assert drafts[0] == drafts[1] == drafts[2]
    assert any(drafts[0])


# What is remembered.


def remembered(past: PastTexts, added: list[Text]) -> list[Text]:
    """Of all texts that were added, those that are still there."""
    return added[len(added) - len(past) :]


def up_to_end(tokens: list[int]) -> list[int]:
    """Without what stands behind a text."""
    return tokens[: tokens.index(END) + 1] if END in tokens else tokens


@pytest.mark.parametrize(("capacity", "max_texts"), [(64, 100), (256, 5), (128, 12), (32, 1)])
def test_the_oldest_texts_go_whole_and_the_rest_is_found(
    monkeypatch: pytest.MonkeyPatch, capacity: int, max_texts: int
) -> None:
    """Round the ring many times, against a search through what should be there."""
    monkeypatch.setattr(place_index, "MAX_PLACES", 10_000)
    rng = random.Random(capacity)
    past, added, num_found = PastTexts(max_texts, capacity), list[Text](), 0
    for _ in range(400):
        text = [rng.randrange(3) for _ in range(rng.randint(1, 14))]
        added.append((text, rng.randint(0, len(text) - 1)))
        past.add(*added[-1])
        held = remembered(past, added)
        assert 1 <= len(held) <= max_texts
        assert sum(len(text) + 1 for text, _ in held) < capacity
        tokens = [rng.randrange(3) for _ in range(6)]
        for length in (1, 3):
            context = place_index.context_of(tokens, 5)
            key = place_index.key_of(tokens[-length:])
            found = [(shared, up_to_end(after)) for shared, after in past.find(length, key, context, 4)]
            expected = [
                (shared, [*text[place:], END][:4])
                for text, first in reversed(held)
                for place in range(len(text) - 1, first - 1, -1)
                if (shared := shared_length(text[:place], tokens, 5)) >= length
            ]
            assert found == expected
            num_found += len(found)
    assert num_found > 100


def test_as_many_tokens_are_held_as_fit() -> None:
    past = PastTexts(10_000, 1 << 12)
    for _ in range(2_000):
        past.add([1] * 9, 0)
    assert 400 <= len(past) <= 409


def test_a_text_that_is_larger_than_all_memory_is_not_held() -> None:
    past = PastTexts(10, 64)
    past.add([1] * 62, 0)
    assert len(past) == 1
    past.add([1] * 64, 0)
    assert len(past) == 1


# Settings.


@pytest.mark.parametrize("num", [1, 4, 8, 64])
@pytest.mark.parametrize("depth", [2, 3, 12, 24, 256])
@pytest.mark.parametrize("factor", [0.0, 0.3, 1.0, 2.5, 64.0])
def test_match_and_draft_are_no_longer_than_the_depth(num: int, depth: int, factor: float) -> None:
    """And one more token of a match would be too much."""
    settings = config(num, max_tree_depth=depth, max_spec_factor=factor)
    longest = settings.max_match
    assert all(m + settings.max_draft(m) <= depth for m in range(1, longest + 1))
    assert longest == depth - 1 or longest + 1 + settings.max_draft(longest + 1) > depth
    assert all(settings.max_draft(m) <= min(num, m * factor) for m in range(1, longest + 1))


def test_defaults_are_those_of_the_paper_and_of_others() -> None:
    assert config(16).describe() == (
        "suffix, 16 tokens at most, of these as many as pay, after up to 12 that stood before, here or in "
        "10000 past outputs"
    )


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("max_tree_depth", 1, "a whole number from 2 to 256"),
        ("max_tree_depth", 24.0, "a whole number from 2 to 256"),
        ("max_cached_requests", -1, "a whole number from 0 to 1000000"),
        ("max_spec_factor", -0.1, "a number from 0 to 64"),
        ("max_spec_factor", math.nan, "a number from 0 to 64"),
        ("max_spec_factor", True, "a number from 0 to 64"),
        ("min_token_prob", 1.1, "a number from 0 to 1"),
        ("min_token_prob", "0.1", "a number from 0 to 1"),
    ],
)
def test_values_that_can_not_be_used_are_named(key: str, value: object, message: str) -> None:
    with pytest.raises(
        SpeculativeConfigError, match=rf"suffix_decoding_{key} is {value!r}; it must be {message}"
    ):
        config(4, **{key: value})


@pytest.mark.parametrize(
    ("key", "value"), [("max_tree_depth", 2), ("max_spec_factor", 0), ("min_token_prob", 1)]
)
def test_values_at_the_edge_can_be_used(key: str, value: float) -> None:
    assert config(4, **{key: value}).make_proposer().propose({}) == {}
