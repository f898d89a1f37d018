"""Streams recorded from real servers, whole and cut into small reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.record import Outcome, TokenSource

if TYPE_CHECKING:
    from tests.wire.conftest import RecordOf

FOLDER = Path(__file__).parents[1] / "data" / "captures"
OK, TRUNCATED = Outcome.OK, Outcome.TRUNCATED
USAGE, CHUNKS = TokenSource.USAGE, TokenSource.CHUNKS

# capture, outcome, detail, chunks, output tokens, their source, prompt tokens
CAPTURES = [
    ("llama-cpp-python/chat_stream", OK, "", 24, 24, CHUNKS, None),
    ("llama-cpp-python/chat_stream_logprobs", OK, "", 4, 4, CHUNKS, None),
    ("llama-cpp-python/chat_stream_usage", OK, "", 24, 24, CHUNKS, None),
    ("llama-cpp-python/completion_stream_usage", OK, "", 8, 8, CHUNKS, None),
    ("llama-cpp-python/interrupted_stream", TRUNCATED, "no_finish_reason", 52, 52, CHUNKS, None),
    ("llama-server/chat_stream", OK, "", 24, 24, CHUNKS, None),
    ("llama-server/chat_stream_logprobs", OK, "", 4, 4, CHUNKS, None),
    ("llama-server/chat_stream_usage", OK, "", 24, 24, USAGE, 37),
    ("llama-server/completion_stream_usage", OK, "", 8, 8, USAGE, 5),
    ("transformers-serve/chat_stream", OK, "no_done", 7, 8, USAGE, 37),
    ("transformers-serve/chat_stream_logprobs", OK, "no_done", 4, 4, USAGE, 37),
    ("transformers-serve/chat_stream_usage", OK, "no_done", 7, 8, USAGE, 37),
    ("transformers-serve/completion_stream_usage", OK, "no_done", 8, 8, USAGE, 5),
    ("vllm/chat_stream", OK, "", 24, 24, CHUNKS, None),
    ("vllm/chat_stream_logprobs", OK, "", 3, 4, CHUNKS, None),
    ("vllm/chat_stream_usage", OK, "", 24, 24, USAGE, 37),
    ("vllm/completion_stream_usage", OK, "", 8, 8, USAGE, 5),
]


@pytest.mark.parametrize("expected", CAPTURES, ids=lambda row: row[0])
@pytest.mark.parametrize("size", [7, 1_000, 1_000_000])
def test_capture(record_of: RecordOf, expected: tuple[object, ...], size: int) -> None:
    name = str(expected[0])
    wire = (FOLDER / f"{name}.sse").read_bytes()
    reads = [(at + 1, wire[at : at + size]) for at in range(0, len(wire), size)]
    record = record_of(reads, endpoint="completions" if "completion" in name else "chat")
    found = (record.outcome, record.detail, len(record.chunk_ns), record.output_tokens, record.token_source)
    assert (name, *found, record.prompt_tokens) == expected


def test_no_capture_is_forgotten() -> None:
    names = {str(path.relative_to(FOLDER).with_suffix("")) for path in FOLDER.glob("*/*.sse")}
    assert names == {row[0] for row in CAPTURES}
