"""What is shown to a sampler along a draft, and what stands of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reference_server.engine.batch import make_batch
from reference_server.engine.request import EngineRequest
from reference_server.engine.sampler import SampledToken
from reference_server.engine.sequence import Sequence
from reference_server.engine.step_plan import ScheduledSequence
from reference_server.engine.verification import accept, accepted_tokens, sampling_states

MakeRequest = Callable[..., EngineRequest]


def chosen(*token_ids: int) -> list[SampledToken]:
    return [SampledToken(token_id) for token_id in token_ids]


@pytest.mark.parametrize(
    ("draft", "sampled", "count"),
    [
        ((), (5,), 1),
        ((5,), (5, 6), 2),
        ((5,), (4, 6), 1),
        ((5, 6, 7), (5, 6, 7, 8), 4),
        ((5, 6, 7), (5, 9, 7, 8), 2),
        ((5, 6, 7), (9, 6, 7, 8), 1),
    ],
    ids=str,
)
def test_what_agrees_stands_and_one_more(
    draft: tuple[int, ...], sampled: tuple[int, ...], count: int
) -> None:
    assert accept(draft, chosen(*sampled)) == chosen(*sampled)[:count]


@pytest.fixture
def decoding(make_request: MakeRequest) -> Callable[..., Sequence]:
    """``decoding(id, num_tokens)``: all but its last token is computed."""

    def make(request_id: str, num_tokens: int) -> Sequence:
        sequence = Sequence(make_request(request_id, list(range(100, 100 + num_tokens - 1))))
        sequence.append(50)
        sequence.num_computed_tokens = num_tokens - 1
        sequence.block_table = [1 + number for number in range(8)]
        return sequence

    return make


def test_rows_of_a_batch_with_drafts_without_and_with_a_chunk(decoding: Callable[..., Sequence]) -> None:
    drafted, plain, chunk, last = (decoding(name, 6) for name in ("drafted", "plain", "chunk", "last"))
    chunk.num_computed_tokens, last.num_computed_tokens = 1, 3
    batch = make_batch(
        [
            ScheduledSequence(drafted, 3, (8, 9)),
            ScheduledSequence(chunk, 2),
            ScheduledSequence(plain, 1),
            ScheduledSequence(last, 3),
        ],
        4,
    )
    assert batch.token_ids.tolist() == [50, 50, 8, 9, 101, 102, 103, 104, 50]
    assert batch.positions.tolist() == [5, 5, 6, 7, 1, 2, 3, 4, 5]
    assert batch.context_lens.tolist() == [6, 8, 3, 6]
    assert batch.sampling_rows.tolist() == [0, 1, 2, 3, 8]
    assert batch.sampling_sequences == [plain, drafted, last]
    assert batch.num_decodes == 1
    assert accepted_tokens(batch, chosen(1, 8, 2, 3, 4)) == {
        plain: chosen(1),
        drafted: chosen(8, 2),
        last: chosen(4),
    }


def test_a_sampler_sees_the_sequence_as_it_would_be(decoding: Callable[..., Sequence]) -> None:
    sequence = decoding("a", 6)
    batch = make_batch([ScheduledSequence(sequence, 3, (50, 9))], 4)
    states = sampling_states(batch)
    assert [state.num_tokens for state in states] == [6, 7, 8]
    assert [state.num_output_tokens for state in states] == [1, 2, 3]
    assert [dict(state.output_counts) for state in states] == [{50: 1}, {50: 2}, {50: 2, 9: 1}]
    assert {state.prompt_token_set for state in states} == {frozenset(range(100, 105))}
    assert sequence.output_counts == {50: 1}, "a draft is nobody's output"
