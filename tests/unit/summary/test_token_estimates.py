"""What a report says of token counts: who counted, and whether the server agrees on the prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from harness.record import TokenSource
from harness.sla.grammar import rule_from
from harness.sla.judge import judge_rule
from harness.summary import Summarizer
from harness.summary.observations import ObservationState
from harness.window import Window

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.record import Record
    from harness.summary.snapshot import Snapshot
    from tests.conftest import MakeRecord


def _summarizer(records: Iterable[Record]) -> Summarizer:
    summarizer = Summarizer(Window(), "open")
    for record in records:
        summarizer.add(record)
    return summarizer


def _snapshot(records: Iterable[Record]) -> Snapshot:
    return _summarizer(records).snapshot(ended_ns=10_000_000_000)


def _message(snapshot: Snapshot, key: str, condition: str) -> str:
    return judge_rule(rule_from(key, condition), snapshot).message


@pytest.mark.parametrize(
    ("source", "how"),
    [
        (TokenSource.TOKENIZER, "a local tokenizer (an estimate)"),
        (TokenSource.CHUNKS, "chunks, one token each (an estimate)"),
    ],
)
@pytest.mark.parametrize(
    ("key", "condition"),
    [
        ("tpot", "mean < 1s"),
        ("output_tokens", "min >= 1"),
        ("output_token_rate", "> 0.1 tokens/s"),
        ("output_rate_per_user", "p50 > 1 tokens/s"),
        ("ntpot", "mean < 1s"),
    ],
)
def test_A2_11_objective_on_tokens_says_that_they_are_an_estimate(
    make_record: MakeRecord, source: TokenSource, how: str, key: str, condition: str
) -> None:
    estimated = [make_record(i, token_source=source, usage_tokens=None) for i in range(3)]
    said = _message(_snapshot([*estimated, make_record(3)]), key, condition)
    assert said.endswith(f"; the output tokens of 3 of 4 requests were counted by {how}")


def test_objective_says_nothing_where_the_server_counted_or_tokens_do_not_matter(
    make_record: MakeRecord,
) -> None:
    exact = _snapshot([make_record(token_source=TokenSource.CHUNKS, chunk_tokens_exact=True)])
    estimated = _snapshot([make_record(token_source=TokenSource.TOKENIZER, usage_tokens=None)])
    assert "counted by" not in _message(exact, "tpot", "mean < 1s")
    assert "counted by" not in _message(_snapshot([make_record()]), "tpot", "mean < 1s")
    assert "counted by" not in _message(estimated, "ttft", "p50 < 1s")


@pytest.mark.parametrize(
    ("lengths", "note"),
    [
        ([8, 8], "the server counts in each of 2 prompts the tokens that the prompt was made with"),
        ([7, 7], "the server counts 1 token more in each of 2 prompts than it was made with"),
        ([2, 5], "the server counts 3 tokens more to 6 tokens more in 2 prompts than their own texts have"),
        ([9, 9], "the server counts 1 token fewer in each of 2 prompts"),
    ],
)
def test_A10_03_server_s_count_is_held_against_the_length_asked_for(
    make_record: MakeRecord, lengths: list[int], note: str
) -> None:
    summarizer = _summarizer(make_record(prompt_length=length) for length in lengths)
    notes = summarizer.summary(summarizer.snapshot(ended_ns=10**10)).notes
    assert [each for each in notes if each.startswith(note)]


def test_nothing_is_said_of_prompts_where_one_count_is_missing(make_record: MakeRecord) -> None:
    records = [make_record(), make_record(prompt_length=8, usage_tokens=None)]
    summarizer = _summarizer(records)
    assert "the server counts" not in str(summarizer.summary(summarizer.snapshot(ended_ns=10**10)).notes)


def test_parts_put_together_say_the_same(make_record: MakeRecord) -> None:
    records = [
        make_record(0, prompt_length=8),
        make_record(1, prompt_length=5),
        make_record(2, token_source=TokenSource.CHUNKS, usage_tokens=None),
    ]
    whole, first, second = _summarizer(records), _summarizer(records[:1]), _summarizer(records[1:])
    state = msgspec.json.encode(second._observations.state())
    first._observations.merge(msgspec.json.decode(state, type=ObservationState))
    assert first._observations.notes() == whole._observations.notes()
    assert first._observations.estimate == whole._observations.estimate
