"""Every stream of the corpus, however its bytes are cut."""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from support import stream_corpus
from support.replay_server import CHUNKED_HEAD, Ending, Replay, ReplayServer, head

from harness.client import Client
from harness.exchange import Exchange
from harness.target import Target
from harness.timeline import End
from scenarios.request import Arrival, Prompt
from scenarios.timeouts import Timeouts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.stream_corpus import Reads, Stream

    from harness.record import Record
    from tests.wire.conftest import RecordOf

STREAMS = stream_corpus.load()
MAX_CUTS = 120

every_stream = pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream.name)


def record(record_of: RecordOf, stream: Stream, reads: Reads | None = None) -> Record:
    data = stream.data
    return record_of(
        stream.reads if reads is None else reads,
        end=End(data["end"]),
        status=data["status"],
        content_type=data["content_type"],
        endpoint=data["endpoint"],
        sampling=data.get("sampling"),
    )


def timeless(found: Record) -> dict[str, Any]:
    """What doesn't depend on when the bytes came."""
    return {
        "tokens": found.output_tokens,
        "token_source": found.token_source,
        "outcome": found.outcome,
        "detail": found.detail,
        "finish_reason": found.finish_reason,
        "chunks": len(found.chunk_ns),
        "answer_index": found.answer_index,
        "answer": found.answer,
        "streamed": found.streamed,
        "prompt_tokens": found.prompt_tokens,
    }


def as_expected(found: Record, expect: dict[str, Any]) -> dict[str, Any]:
    """The record in the corpus' words, as far as it speaks of it; ``message`` is a part of the message."""
    stamps, index = [stamp / 1e6 for stamp in found.chunk_ns], found.answer_index
    said = {
        **msgspec.to_builtins(found),
        "ttft_ms": stamps[0] if stamps else None,
        "ttfa_ms": None if index is None else stamps[index],
        "gaps_ms": [after - before for before, after in itertools.pairwise(stamps)],
        "tokens": found.output_tokens,
        "coalesced": found.coalesced_chunks,
        "done_ms": found.done_ns / 1e6,
    }
    part = expect.get("message", "")
    return {key: said[key] for key in expect} | ({"message": part} if part in found.message else {})


@every_stream
def test_stream_as_it_stands(record_of: RecordOf, stream: Stream) -> None:
    expect = {**stream.expect, "gaps_ms": stream.gaps_ms}
    expect.setdefault("message", "")
    expect.setdefault("streamed", True)
    assert as_expected(record(record_of, stream), expect) == expect


def cuts(stream: Stream) -> Iterator[Reads]:
    """Byte by byte, in sevens, and in two at many places: each piece keeps the time of its read."""
    size = len(stream.wire)
    if size < 50_000:
        yield [(ms, data[i : i + 1]) for ms, data in stream.reads for i in range(len(data))]
    yield [(ms, data[i : i + 7]) for ms, data in stream.reads for i in range(0, len(data), 7)]
    for number, (ms, data) in enumerate(stream.reads[:20]):
        step = max(1, min(size, 20 * len(data)) // MAX_CUTS)
        for at in range(1, len(data), step):
            yield [
                *stream.reads[:number],
                (ms, data[:at]),
                (ms, data[at:]),
                *stream.reads[number + 1 :],
            ]


@every_stream
def test_cuts_within_a_read_change_nothing(record_of: RecordOf, stream: Stream) -> None:
    whole = record(record_of, stream)
    for reads in itertools.islice(cuts(stream), 8 if len(stream.reads) > 1_000 else None):
        assert record(record_of, stream, reads) == whole


@every_stream
def test_everything_in_one_read(record_of: RecordOf, stream: Stream) -> None:
    """All chunks share its time; what they bear stays."""
    found = record(record_of, stream, [(90, stream.wire)] if stream.wire else [])
    assert timeless(found) == timeless(record(record_of, stream))
    assert found.coalesced_chunks == max(0, len(found.chunk_ns) - 1)
    assert set(found.chunk_ns) <= {90_000_000}


def over_socket(server: ReplayServer, stream: Stream) -> Record:
    data = stream.data
    ends = {
        "complete": (head(f"{data['status']} Status", data["content_type"]), stream.wire),
        "closed": (CHUNKED_HEAD, b"%x\r\n%s\r\n" % (len(stream.wire), stream.wire)),
    }
    start, wire = ends[data["end"]]
    pieces = [(0.0, wire[at : at + 900]) for at in range(0, len(wire), 900)]
    server.play(Replay(start, pieces, Ending.CLOSE))

    async def exchange() -> Record:
        client = Client(Target.parse(server.url), data["endpoint"], "model", Timeouts())
        prompt = Prompt(text="hello")
        prepared = client.prepare(
            Arrival(index=0, due_ns=0, prompt=prompt, sampling=data.get("sampling", {}))
        )
        began_ns = time.monotonic_ns()
        exchange = Exchange(client, prepared, began_ns, lambda _: None, keep_text=True)
        try:
            await client.transport.exchange(prepared.request, exchange)
        finally:
            await client.close()
        while exchange.digest(1_000):
            pass
        return exchange.record(began_ns)

    return asyncio.run(exchange())


@pytest.mark.parametrize(
    "stream",
    [stream for stream in STREAMS if stream.data["end"] != "reset"],
    ids=lambda stream: stream.name,
)
def test_over_a_real_socket(record_of: RecordOf, replay_server: ReplayServer, stream: Stream) -> None:
    found = over_socket(replay_server, stream)
    assert timeless(found) == timeless(record(record_of, stream))
    assert found.chunk_ns == sorted(found.chunk_ns)


def test_files_and_names_agree() -> None:
    assert [stream.name for stream in STREAMS] == [
        path.stem for path in sorted(stream_corpus.FOLDER.glob("*.json"))
    ]


def test_the_page_is_current() -> None:
    """If not: python tests/support/stream_corpus.py"""
    assert stream_corpus.PAGE.read_text() == stream_corpus.page(STREAMS)
