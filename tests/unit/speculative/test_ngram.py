"""Prompt lookup: the longest match, of these the latest, and what followed it."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest

from reference_server.engine.request import EngineRequest
from reference_server.engine.sequence import Sequence
from reference_server.speculative.ngram import NgramProposer

MakeRequest = Callable[..., EngineRequest]


@pytest.fixture
def draft(make_request: MakeRequest) -> Callable[..., list[int]]:
    """``draft(token_ids, limit)`` by an n-gram of 2 to 3 tokens, unless said otherwise."""

    def propose(token_ids: list[int], limit: int = 4, lengths: tuple[int, int] = (2, 3)) -> list[int]:
        sequence = Sequence(make_request(prompt=token_ids))
        return NgramProposer(*lengths).propose({sequence: limit}).get(sequence, [])

    return propose


@pytest.mark.parametrize(
    ("token_ids", "expected"),
    [
        ([1, 2, 3, 4, 9, 1, 2], [3, 4, 9, 1]),
        ([1, 2, 3, 1, 2, 4, 1, 2], [4, 1, 2, 4]),
        ([5, 1, 2, 3, 8, 8, 6, 1, 2, 4, 9, 5, 1, 2], [3, 8, 8, 6]),
        ([1, 2, 3, 4, 5, 2], []),
        ([1, 2, 3], []),
        ([1], []),
        ([7, 7, 7], [7, 7, 7, 7]),
        ([1, 2, 1, 2], [1, 2, 1, 2]),
    ],
    ids=["one place", "the latest", "the longest", "too short", "none", "one token", "one again", "a loop"],
)
def test_what_followed_before(
    draft: Callable[..., list[int]], token_ids: list[int], expected: list[int]
) -> None:
    assert draft(token_ids) == expected


def test_no_more_than_can_be_used(draft: Callable[..., list[int]]) -> None:
    assert draft([1, 2, 3, 4, 9, 1, 2], 1) == [3]


def test_a_single_token_is_enough_where_that_is_asked_for(draft: Callable[..., list[int]]) -> None:
    assert draft([1, 2, 3, 4, 5, 2], 2, (1, 1)) == [3, 4]


def test_it_learns_from_the_output(make_request: MakeRequest) -> None:
    proposer, sequence = NgramProposer(2, 3), Sequence(make_request(prompt=[1, 2, 3]))
    assert proposer.propose({sequence: 4}) == {}
    for token_id in (4, 1, 2):
        sequence.append(token_id)
    assert proposer.propose({sequence: 2}) == {sequence: [3, 4]}


def test_sequences_learn_nothing_from_each_other(make_request: MakeRequest) -> None:
    proposer = NgramProposer(2, 2)
    one, other = Sequence(make_request(prompt=[1, 2, 3, 1, 2])), Sequence(make_request(prompt=[4, 1, 2]))
    assert proposer.propose({one: 1, other: 1}) == {one: [3]}


def test_a_sequence_that_is_gone_is_forgotten(make_request: MakeRequest) -> None:
    proposer, sequence = NgramProposer(2, 2), Sequence(make_request())
    proposer.propose({sequence: 1})
    assert len(proposer._indexes) == 1
    del sequence
    gc.collect()
    assert len(proposer._indexes) == 0
