"""Events that are decoded together give what each gives by itself, however the bytes are cut."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import stream_corpus

from harness import wire
from harness.timeline import Timeline
from harness.wire.decoding import Decoder
from tests.wire.conftest import DONE, LENGTH, ROLE, STOP, delta, event, text, usage

STREAMS = [stream for stream in stream_corpus.load() if len(stream.wire) < 100_000]
COMPLETION = event({"object": "text_completion", "choices": [{"index": 0, "text": "x", "logprobs": None}]})
OUTPUT = {"type": "response.output_text.delta", "delta": "x"}
EVENTS = [
    *([text("a"), text("b c"), text("\n"), text('"'), text("é😀")] * 4),
    COMPLETION,
    ROLE,
    STOP,
    LENGTH,
    DONE,
    text(""),
    text("end", "stop"),
    text("t", token_ids=[1, 2]),
    text("l", logprobs={"content": [{"token": "l"}]}),
    delta(reasoning_content="hm"),
    delta(tool_calls=[{"index": 0, "function": {"name": "f", "arguments": "{}"}}]),
    delta(content="u", usage={"completion_tokens": 3}),
    usage(prompt_tokens=2, completion_tokens=5),
    event({"error": {"message": "broken"}}),
    event({"object": "error", "message": "broken"}),
    event({"choices": [{"index": 0, "delta": {"content": "x"}}] * 2}),
    event(OUTPUT),
    event({"type": "response.completed", "response": {"usage": {"output_tokens": 4}}}),
    text("x").replace(b"data: ", b"data:"),
    text("x").replace(b"data: ", b"data:  "),
    text("x").replace(b"\n\n", b"\r\n\r\n"),
    text("x").replace(b": {", b": \ndata: {"),
    *(text("x").replace(b'"x"', odd) for odd in (b'"\t"', b'"\xff"', b'"x","a":"b"', b'"\\u00e9"', b"3")),
    b"data: {}\n\n",
    b"data: \n\n",
    b"data\n\n",
    b"data:  [DONE]\n\n",
    b"data: [DONE] \n\n",
    b'data: {"choices":[\n\n',
    b"data: ]}\n\n",
    b"data: {}{}\n\n",
    b"data: {},{}\n\n",
    b"data: {} \t\n\n",
    b"data: 3\n\n",
    b'data: {"choices":[{"delta":{"content":"\xff"}}]}\n\n',
    b": keep-alive\n\n",
    b"id: 7\n",
    b"event: error\n",
    b"event: message\n",
    b"\xef\xbb\xbf",
    b"\n",
    b"\n\n",
]


def answer(endpoint: str, pieces: list[bytes], at_once: int, *, together: bool) -> dict[str, Any]:
    """All that an answer knows; each piece is one read, and so many are given at a time."""
    timeline = Timeline(0)
    timeline.status, timeline.headers = 200, {"content-type": "text/event-stream"}
    decoder = Decoder(wire.endpoint(endpoint), keep_text=True)
    if not together:
        vars(decoder._sse)["feed_plain"] = lambda _: None  # the oracle: one by one
    for at in range(0, len(pieces), at_once):
        batch = pieces[at : at + at_once]
        decoder.feed(timeline, range(at + 1, at + 1 + len(batch)), batch)
    decoder.finish(1_000_000, is_whole=True)
    return vars(decoder.answer)


def pieces_of(whole: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted({place for place in places if 0 < place < len(whole)}), len(whole)]
    return [whole[a:b] for a, b in itertools.pairwise(edges)]


@given(
    endpoint=st.sampled_from(["chat", "completions", "responses"]),
    events=st.lists(st.sampled_from(EVENTS), max_size=24),
    places=st.lists(st.integers(1, 2_000), max_size=6),
    at_borders=st.booleans(),
    at_once=st.integers(1, 12),
)
def test_together_as_one_by_one(
    endpoint: str, events: list[bytes], places: list[int], at_borders: bool, at_once: int
) -> None:
    borders = list(itertools.accumulate(map(len, events))) if at_borders else []
    pieces = pieces_of(b"".join(events), places + borders)
    one_by_one = answer(endpoint, pieces, at_once, together=False)
    assert answer(endpoint, pieces, at_once, together=True) == one_by_one


@pytest.mark.parametrize(
    "events",
    [
        b'data: {"choices":[\n\ndata: ]}\n\n',
        b'data: {"choices":[{}\n\ndata: {}]}\n\ndata: {},{}\n\n',
        text("x").replace(b": {", b": \rdata: {", 1),
        text("x").replace(b": {", b": \ndata: {", 1),
        b"data: {}\r\n\n",
        b"data: {}\n\ndata: \n\n",
        b"data: [DONE]\n\n" + text("late"),
    ],
)
def test_events_that_only_look_plain(events: bytes) -> None:
    pieces = [text("a"), events, text("b")]
    one_by_one = answer("chat", pieces, 3, together=False)
    assert answer("chat", pieces, 3, together=True) == one_by_one


@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream.name)
@pytest.mark.parametrize("at_once", [1, 3, 1_000])
def test_the_corpus_together_as_one_by_one(stream: stream_corpus.Stream, at_once: int) -> None:
    pieces = [data for _, data in stream.reads]
    endpoint = stream.data["endpoint"]
    one_by_one = answer(endpoint, pieces, at_once, together=False)
    assert answer(endpoint, pieces, at_once, together=True) == one_by_one


def test_what_most_servers_send_is_decoded_together() -> None:
    """Or else the tests above compare the slow way with itself."""
    decoder = Decoder(wire.endpoint("chat"), keep_text=False)
    reads = [ROLE, *[text("a")] * 40, STOP + usage(completion_tokens=40) + DONE]
    found = decoder._sse.feed_plain(b"".join(reads))
    assert found is not None
    assert len(found[0]) == 44
    assert len(decoder.answer.chunk_ns) == 0
