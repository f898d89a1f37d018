"""Which events bear tokens, how many, and what they are for."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from harness.metrics.tpot import TimePerOutputToken
from harness.record import Outcome, Record, TokenSource
from tests.wire.conftest import DONE, LENGTH, ROLE, STOP, RecordOf, delta, event, text, usage


def gaps_ms(record: Record) -> list[float]:
    return [(b - a) / 1e6 for a, b in itertools.pairwise(record.chunk_ns)]


def ttft_ms(record: Record) -> float:
    return record.chunk_ns[0] / 1e6


def test_A1_01_role_delta_is_no_token(record_of: RecordOf) -> None:
    texts = [(200 + 20 * i, text("word ")) for i in range(10)]
    record = record_of([(5, ROLE), *texts, (390, STOP + DONE)])
    assert ttft_ms(record) == 200
    assert gaps_ms(record) == [20] * 9
    assert record.output_tokens == 10


def test_A1_03_all_reasoning_is_an_answer_without_a_first_answer_token(record_of: RecordOf) -> None:
    thoughts = [(100 + i, delta(reasoning_content="hm ")) for i in range(60)]
    record = record_of([*thoughts, (170, LENGTH), (171, usage(prompt_tokens=3, completion_tokens=64) + DONE)])
    assert record.outcome is Outcome.OK
    assert (ttft_ms(record), record.output_tokens, record.answer_index) == (100, 64, None)


def test_the_first_answer_token_comes_after_the_thoughts(record_of: RecordOf) -> None:
    record = record_of([(1, ROLE), (2, delta(reasoning="hm")), (3, text("a")), (4, text("b", "stop") + DONE)])
    assert record.answer_index == 1


def test_where_nothing_is_thought_aloud_all_is_answer(record_of: RecordOf) -> None:
    """Also a first token that has no text yet."""
    record = record_of([(1, text("", token_ids=[7])), (2, text("ä", "stop", token_ids=[8]) + DONE)])
    assert (record.answer_index, len(record.chunk_ns)) == (0, 2)


def test_A1_05_empty_choices_first(record_of: RecordOf) -> None:
    notes = event({"choices": [], "prompt_filter_results": [{"prompt_index": 0}]})
    record = record_of([(5, notes), (80, text("a")), (90, text("b", "stop") + DONE)])
    assert (record.outcome, ttft_ms(record)) == (Outcome.OK, 80)


TOOL = {"tool_calls": [{"index": 0, "function": {"arguments": '{"x":'}}]}


@pytest.mark.parametrize("fields", [TOOL, {"refusal": "I can't"}])
def test_A1_08_comments_are_none_and_tool_calls_and_refusals_are_tokens(
    record_of: RecordOf, fields: dict[str, Any]
) -> None:
    comments = [(100.0 * i, b": keep-alive\n\n") for i in range(1, 7)]
    record = record_of([*comments, (700, delta(**fields)), (710, STOP + DONE)])
    assert (record.outcome, ttft_ms(record), record.answer_index) == (Outcome.OK, 700, 0)


@pytest.mark.parametrize(
    "fields",
    [{}, {"content": ""}, {"content": None}, {"role": "assistant", "content": ""}, {"tool_calls": []},
     {"tool_calls": [{"index": 0, "id": "call_1", "function": {"name": "", "arguments": ""}}]},
     {"reasoning_content": "", "refusal": None}],
)  # fmt: skip
def test_an_empty_delta_bears_no_token(record_of: RecordOf, fields: dict[str, Any]) -> None:
    record = record_of([(10, delta(**fields)), (20, text("a", "stop") + DONE)])
    assert record.chunk_ns == [20_000_000]


def test_text_and_finish_reason_in_one_event(record_of: RecordOf) -> None:
    record = record_of([(10, text("a")), (20, text("b", "length") + DONE)])
    assert (len(record.chunk_ns), record.finish_reason) == (2, "length")


def test_A2_01_chunks_of_five_tokens(record_of: RecordOf) -> None:
    chunks = [(100 + 50 * i, text("a b c d e")) for i in range(20)]
    record = record_of([*chunks, (1050, LENGTH + usage(prompt_tokens=1, completion_tokens=100) + DONE)])
    assert (record.output_tokens, record.token_source) == (100, TokenSource.USAGE)
    assert gaps_ms(record) == [50] * 19
    assert not record.chunk_tokens_exact


def test_A2_01_running_usage_tells_the_tokens_of_each_chunk(record_of: RecordOf) -> None:
    chunks = [(10 * i, delta(content="a b", usage={"completion_tokens": 5 * (i + 1)})) for i in range(4)]
    record = record_of([*chunks, (50, LENGTH + usage(completion_tokens=20) + DONE)])
    assert (record.chunk_tokens, record.chunk_tokens_exact) == ([5, 5, 5, 5], True)
    assert record.output_tokens == 20


def test_usage_in_the_last_chunk_only_is_no_running_usage(record_of: RecordOf) -> None:
    last = delta(content="b", finish_reason="stop", usage={"completion_tokens": 9})
    record = record_of([(1, text("a")), (2, last + DONE)])
    assert (record.chunk_tokens, record.chunk_tokens_exact) == ([1, 1], False)


def test_token_ids_and_logprobs_tell_the_tokens_of_each_chunk(record_of: RecordOf) -> None:
    by_ids = record_of([(1, text("ab", token_ids=[1, 2])), (2, text("c", "stop", token_ids=[3]) + DONE)])
    assert (by_ids.chunk_tokens, by_ids.chunk_tokens_exact) == ([2, 1], True)
    assert (by_ids.output_tokens, by_ids.token_source) == (3, TokenSource.TOKEN_IDS)
    logprobs = {"content": [{"token": "a"}, {"token": "b"}]}
    by_logprobs = record_of([(1, text("ab", logprobs=logprobs)), (2, STOP + DONE)])
    assert (by_logprobs.chunk_tokens, by_logprobs.chunk_tokens_exact) == ([2], True)


def test_an_empty_list_of_token_ids_beside_text_is_no_count(record_of: RecordOf) -> None:
    empty = {"token_ids": [], "logprobs": {"content": [], "tokens": []}}
    texts = [(20 * i, text("a", **empty)) for i in range(1, 4)]
    alone = record_of([*texts, (70, STOP + DONE)])
    assert (alone.chunk_tokens, alone.chunk_tokens_exact) == ([1, 1, 1], False)
    assert (alone.output_tokens, alone.token_source) == (3, TokenSource.CHUNKS)
    said = record_of([*texts, (70, STOP + usage(completion_tokens=9) + DONE)])
    assert TimePerOutputToken().value(said, 0) == 40e6 / 8
    running = [
        (20 * i, event({"choices": [{"text": "a", "token_ids": []}], "usage": {"completion_tokens": i}}))
        for i in range(1, 4)
    ]
    told = record_of([*running, (70, STOP + DONE)])
    assert (told.chunk_tokens, told.chunk_tokens_exact) == ([1, 1, 1], True)
    assert TimePerOutputToken().value(told, 0) == 20e6


def test_A2_03_usage_with_empty_choices(record_of: RecordOf) -> None:
    record = record_of(
        [(1, text("a")), (2, STOP), (3, usage(prompt_tokens=26, completion_tokens=40)), (4, DONE)],
        num_tokens=20,
    )
    assert (record.prompt_tokens, record.output_tokens) == (26, 40)


def test_A2_05_reasoning_tokens_are_inside(record_of: RecordOf) -> None:
    counts = usage(
        prompt_tokens=9,
        completion_tokens=50,
        completion_tokens_details={"reasoning_tokens": 30},
        prompt_tokens_details={"cached_tokens": 4},
    )
    record = record_of([(1, text("a")), (2, STOP + counts + DONE)])
    assert (record.output_tokens, record.reasoning_tokens, record.cached_tokens) == (50, 30, 4)


def test_running_usage_is_never_summed(record_of: RecordOf) -> None:
    chunks = [(i, delta(content="x", usage={"completion_tokens": i})) for i in range(1, 11)]
    assert record_of([*chunks, (20, STOP + DONE)]).output_tokens == 10


def test_A2_06_tokens_without_text_are_in_the_usage(record_of: RecordOf) -> None:
    chunks = [(49.2 * i, text("x")) for i in range(130)]
    record = record_of([*chunks, (6400, LENGTH + usage(completion_tokens=1000) + DONE)])
    assert (record.output_tokens, len(record.chunk_ns)) == (1000, 130)


@pytest.mark.parametrize("counts", [None, 438])
def test_A2_08_thoughts_are_counted(record_of: RecordOf, counts: int | None) -> None:
    thoughts = [(i, delta(reasoning_content="hm")) for i in range(400)]
    answer = [(400 + i, text("a")) for i in range(38)]
    last = b"" if counts is None else usage(completion_tokens=counts)
    record = record_of([*thoughts, *answer, (500, STOP + last + DONE)])
    assert record.output_tokens == 438
    assert record.token_source is (TokenSource.CHUNKS if counts is None else TokenSource.USAGE)


def test_A2_10_and_A2_11_without_usage_chunks_are_counted_and_it_says_so(record_of: RecordOf) -> None:
    record = record_of([*((20 * i, text("x")) for i in range(10)), (200, STOP + DONE)], num_tokens=7)
    assert (record.output_tokens, record.token_source, record.usage_tokens) == (10, TokenSource.CHUNKS, None)
    assert gaps_ms(record) == [20] * 9
    assert record.prompt_tokens == 7


def test_A3_10_events_of_one_read_share_its_time(record_of: RecordOf) -> None:
    five = b"".join(text(str(i)) for i in range(5))
    sixth = text("5")
    record = record_of([(10, five), (20, sixth[:9]), (30, sixth[9:-1]), (40, sixth[-1:]), (50, STOP + DONE)])
    assert [stamp / 1e6 for stamp in record.chunk_ns] == [10, 10, 10, 10, 10, 40]
    assert (record.coalesced_chunks, record.answer) == (4, "012345")


def test_A3_01_spaces_at_a_cut_survive(record_of: RecordOf) -> None:
    wire = text("a b") + text(" c") + STOP + DONE
    for at in range(1, len(wire)):
        assert record_of([(1, wire[:at]), (2, wire[at:])]).answer == "a b c"


def test_several_choices_of_one_event_count_together(record_of: RecordOf) -> None:
    both = event({"choices": [{"index": 0, "delta": {"content": "a"}, "token_ids": [1]},
                              {"index": 1, "delta": {"content": "b"}, "token_ids": [2, 3]}]})  # fmt: skip
    record = record_of([(1, both), (2, STOP + DONE)])
    assert (record.output_tokens, len(record.chunk_ns)) == (3, 1)


def test_a_choice_without_a_count_leaves_its_event_without_one(record_of: RecordOf) -> None:
    for first, second in (([1, 2], []), ([], [1, 2])):
        both = event({"choices": [{"text": "a", "token_ids": first}, {"text": "b", "token_ids": second}]})
        record = record_of([(1, both), (2, STOP + DONE)])
        assert (record.chunk_tokens_exact, record.token_source) == (False, TokenSource.CHUNKS)


def test_invalid_utf8_is_replaced_and_no_fault(record_of: RecordOf) -> None:
    broken = text("a?b").replace(b"?", b"\xff")
    assert record_of([(1, broken), (2, STOP + DONE)]).answer == "a\ufffdb"


def test_text_completions(record_of: RecordOf) -> None:
    def piece(content: str, finish_reason: str | None = None) -> bytes:
        return event({"choices": [{"index": 0, "text": content, "finish_reason": finish_reason}]})

    record = record_of(
        [(1, piece("a")), (2, piece("b")), (3, piece("", "length") + DONE)], endpoint="completions"
    )
    assert (record.answer, len(record.chunk_ns), record.outcome) == ("ab", 2, Outcome.OK)
