"""Texts that are told from one event without parsing the others are those that parsing finds."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.wire.alike import texts_of_alike

AROUND = [(b'{"id":"a","text":"', b'","n":null}'), (b'{"n":1,"text":"', b'"}'), (b'["', b'"]')]
INSIDE = [b"a", b" word", b'","text":"b', b'\\"', b"\\n", b"\t", b"\xff", b"\xc3\xa9", b"", b"a, another"]


def text_of(data: bytes) -> str | None:
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    text = found.get("text") if isinstance(found, dict) else None
    return text if isinstance(text, str) and text else None


@given(
    st.lists(
        st.tuples(
            st.sampled_from([AROUND[0], *AROUND]),
            st.one_of(st.sampled_from(INSIDE), st.text().map(lambda text: json.dumps(text)[1:-1].encode())),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_what_is_found_is_what_parsing_finds(parts: list[tuple[tuple[bytes, bytes], bytes]]) -> None:
    events = [before + inside + after for (before, after), inside in parts]
    for event, text in zip(events, texts_of_alike(events, text_of), strict=True):
        assert text in (None, text_of(event))


def test_all_plain_texts_are_found() -> None:
    before, after = AROUND[0]
    words = [f"word {number} é" for number in range(20)]
    events = [before + word.encode() + after for word in words]
    assert texts_of_alike([b"[]", *events, b"{}"], text_of) == [None, *words, None]


@pytest.mark.parametrize(
    "event",
    [
        b'{"text":"a\\nb"}',
        b'{"text":"\\ud83d\\ude00"}',
        b'{"other":"a","text": "a"}',
        b'{"text": "a","other":"a"}',
    ],
)
def test_a_pattern_that_is_not_sure_is_none(event: bytes) -> None:
    """Or a right one: what is taken for the text may stand elsewhere too."""
    before, _, after = event.rpartition(b'"a"')
    events = [event.replace(b'"a"', b'"b"', 1), before + b'"b"' + after, *[event] * 12]
    for each, text in zip(events, texts_of_alike(events, text_of), strict=True):
        assert text in (None, text_of(each))
