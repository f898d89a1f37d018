"""Output tokens where the server doesn't say how many there are: the scenario's own tokenizer counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from harness.client import Client, Prepared
from harness.exchange import Exchange
from harness.record import Record, TokenSource
from harness.target import Target
from harness.timeline import End
from harness.transport import HttpRequest
from scenarios.request import Arrival, Prompt
from scenarios.timeouts import Timeouts
from scenarios.tokenizers import TokenCounter, open_tokenizer
from tests.wire.conftest import DONE, STOP, Reads, delta, text, usage

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def counter(tmp_path: Path) -> TokenCounter:
    """One token for each word, and one in front of every text that is encoded."""
    words = ["<s>", "<unk>", "one", "hm", "a"]
    library = Tokenizer(models.WordLevel({word: at for at, word in enumerate(words)}, unk_token="<unk>"))
    library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    library.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    library.save(str(tmp_path / "tokenizer.json"))
    assert len(library.encode("one one").ids) == 3
    return open_tokenizer(tmp_path)


def _record(reads: Reads, counter: TokenCounter | None, content_type: str = "text/event-stream") -> Record:
    client = Client(Target.parse("127.0.0.1:8000"), "chat", "model", Timeouts(), counter)
    arrival = Arrival(index=0, due_ns=0, prompt=Prompt(text="hello", num_tokens=7), sampling={})
    prepared = Prepared(arrival=arrival, request=HttpRequest("POST", "/"))
    exchange = Exchange(client, prepared, 0, lambda _: None, keep_text=False)
    exchange.sent_ns, exchange.status, exchange.headers = 0, 200, {"content-type": content_type}
    exchange.read_ns = [round(at_ms * 1e6) for at_ms, _ in reads]
    exchange.reads = [data for _, data in reads]
    exchange.close(End.COMPLETE, round(reads[-1][0] * 1e6), "", "")
    while exchange.digest(3):
        pass
    return exchange.record(0)


def test_A2_10_whole_text_is_counted_and_no_token_put_before_it(counter: TokenCounter) -> None:
    record = _record([*((20 * i, text("one ")) for i in range(10)), (200, STOP + DONE)], counter)
    assert (record.output_tokens, record.token_source) == (10, TokenSource.TOKENIZER)
    assert [late - early for early, late in zip(record.chunk_ns, record.chunk_ns[1:], strict=False)] == (
        [20_000_000] * 9
    )


def test_A2_11_chunks_of_several_tokens_are_counted_and_called_an_estimate(counter: TokenCounter) -> None:
    reads: Reads = [*((20 * i, text("one one one one ")) for i in range(10)), (200, STOP + DONE)]
    assert (_record(reads, counter).output_tokens, _record(reads, None).output_tokens) == (40, 10)
    assert _record(reads, counter).output_is_estimate
    assert _record(reads, None).output_is_estimate


@pytest.mark.parametrize("counts", [None, 512])
def test_A2_08_thoughts_are_counted_and_usage_wins(counter: TokenCounter, counts: int | None) -> None:
    thoughts: Reads = [(i, delta(reasoning_content=" hm" if i else "hm")) for i in range(400)]
    answer: Reads = [(400 + i, text(" a" if i else "a")) for i in range(38)]
    last = b"" if counts is None else usage(completion_tokens=counts)
    record = _record([*thoughts, *answer, (500, STOP + last + DONE)], counter)
    assert record.output_tokens == (438 if counts is None else 512)
    assert record.token_source is (TokenSource.TOKENIZER if counts is None else TokenSource.USAGE)
    assert record.output_is_estimate == (counts is None)


def test_token_ids_and_logprobs_of_the_server_are_no_estimate(counter: TokenCounter) -> None:
    by_ids = _record([(1, text("one", token_ids=[1, 2])), (2, STOP + DONE)], counter)
    assert (by_ids.output_tokens, by_ids.token_source) == (2, TokenSource.TOKEN_IDS)
    logprobs = {"content": [{"token": "o"}, {"token": "n"}, {"token": "e"}]}
    by_logprobs = _record([(1, text("one", logprobs=logprobs)), (2, STOP + DONE)], counter)
    assert (by_logprobs.output_tokens, by_logprobs.output_is_estimate) == (3, False)


def test_answer_in_one_piece_is_counted(counter: TokenCounter) -> None:
    whole = b'{"choices": [{"message": {"content": "one one a"}, "finish_reason": "stop"}]}'
    record = _record([(5, whole)], counter, "application/json")
    assert (record.output_tokens, record.token_source) == (3, TokenSource.TOKENIZER)


def test_text_is_not_kept_in_the_record_for_that(counter: TokenCounter) -> None:
    record = _record([(1, text("one")), (2, STOP + DONE)], counter)
    assert (record.prompt, record.answer) == (None, None)


def test_prompt_tokens_are_those_of_the_scenario_where_usage_is_missing(counter: TokenCounter) -> None:
    without, with_usage = (
        _record([(1, text("one")), (2, STOP + last + DONE)], counter)
        for last in (b"", usage(prompt_tokens=19, completion_tokens=1))
    )
    assert (without.prompt_tokens, without.prompt_length) == (7, 7)
    assert (with_usage.prompt_tokens, with_usage.prompt_length) == (19, 7)
