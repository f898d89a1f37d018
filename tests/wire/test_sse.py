"""The SSE parser against the standard's vectors, however the bytes are cut."""

from __future__ import annotations

import base64
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.wire.sse import EventTooLargeError, SseParser

_FILE = Path(__file__).parents[1] / "data" / "sse" / "sse_vectors.json"
VECTORS: list[dict[str, Any]] = json.loads(_FILE.read_text())["vectors"]


def parse(pieces: list[bytes]) -> tuple[list[dict[str, str]], SseParser]:
    parser = SseParser()
    events = [event for piece in pieces for event in parser.feed(piece)]
    shown = []
    for event in events:
        row = {"event": event.name, "data": event.data.decode(errors="replace")}
        shown.append(row if event.id is None else {**row, "id": event.id})
    return shown, parser


def cuts(wire: bytes) -> list[list[bytes]]:
    whole, by_byte = [wire], [wire[i : i + 1] for i in range(len(wire))]
    return [whole, by_byte, *([wire[:at], wire[at:]] for at in range(1, len(wire)))]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_vector_holds_for_every_cut(vector: dict[str, Any]) -> None:
    for pieces in cuts(base64.b64decode(vector["wire_b64"])):
        events, parser = parse(pieces)
        assert events == vector["events"]
        if vector["retry_ms"] is not None:
            assert parser.retry_ms == vector["retry_ms"]
        if vector["last_event_id"] is not None:
            assert parser.last_event_id == vector["last_event_id"]


@given(
    wire=st.lists(
        st.sampled_from(
            [
                b"data: x\n\n",
                b"data:y\r\n\r\n",
                b": c\n\n",
                b"data: a\rdata: b\r\r",
                b"id: 1\n",
                b"event: e\n",
                b"data: \xe2\x80\xa8 \n\n",
                b"\n",
                b"\r",
                b"junk",
                b"data: [DONE]\n\n",
            ]
        )
    ).map(b"".join),
    at=st.lists(st.integers(0, 200)),
)
def test_cutting_never_changes_the_events(wire: bytes, at: list[int]) -> None:
    """The fast path and the line by line path are the same parser."""
    edges = [0, *sorted(min(each, len(wire)) for each in at), len(wire)]
    pieces = [wire[a:b] for a, b in itertools.pairwise(edges)]
    assert parse(pieces)[0] == parse([wire[i : i + 1] for i in range(len(wire))])[0]


def test_A3_01_spaces_at_a_cut_are_kept() -> None:
    wire = b'data: {"c":"a b"}\n\ndata: {"c":" c"}\n\n'
    for pieces in cuts(wire):
        assert [event["data"] for event in parse(pieces)[0]] == ['{"c":"a b"}', '{"c":" c"}']


def test_A3_03_unicode_separators_do_not_end_a_line() -> None:
    data = '{"c":"a\u2028b\u2029c\x85d"}'
    for pieces in cuts(f"data: {data}\n\n".encode()):
        assert [event["data"] for event in parse(pieces)[0]] == [data]


@pytest.mark.parametrize("line_end", [b"\r\n", b"\r"])
def test_A3_05_other_line_ends_give_the_same_events(line_end: bytes) -> None:
    wire = b'data: {"c":"a"}\n\ndata: {"c":"b"}\n\ndata: [DONE]\n\n'
    for pieces in cuts(wire.replace(b"\n", line_end)):
        assert parse(pieces)[0] == parse([wire])[0]


def test_A3_06_no_space_after_the_colon() -> None:
    assert [event["data"] for event in parse([b"data:{}\n\ndata:[DONE]\n\n"])[0]] == ["{}", "[DONE]"]


def test_A3_08_a_comment_is_no_event() -> None:
    wire = b'id: 7\ndata: {"c":"a"}\n\n: ping\n\ndata: {"c":"b"}\n\n'
    for pieces in cuts(wire):
        assert [event["data"] for event in parse(pieces)[0]] == ['{"c":"a"}', '{"c":"b"}']


def test_A3_10_five_events_in_one_piece_then_one_in_three() -> None:
    five = b"".join(b"data: %d\n\n" % i for i in range(5))
    events, _ = parse([five, b"da", b"ta: 5\n", b"\n"])
    assert [event["data"] for event in events] == list("012345")


@pytest.mark.parametrize("piece", [b"data: " + b"x" * 100, b"data: xxxxxxxxxx\n" * 10])
def test_an_event_without_end_is_refused(piece: bytes) -> None:
    """Neither an endless line nor endless lines can fill the memory."""
    parser = SseParser(max_event_bytes=64)
    with pytest.raises(EventTooLargeError, match="64 bytes"):
        parser.feed(piece)


def test_a_dripped_event_without_end_is_refused() -> None:
    parser = SseParser(max_event_bytes=64)
    for _ in range(64):
        assert parser.feed(b"x") == []
    with pytest.raises(EventTooLargeError):
        parser.feed(b"x")


def test_many_small_events_are_no_large_one() -> None:
    parser = SseParser(max_event_bytes=64)
    assert len(parser.feed(b"data: 0123456789\n\n" * 100)) == 100
