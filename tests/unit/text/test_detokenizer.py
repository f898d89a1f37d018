"""Pieces of text from tokens as they come."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reference_server.text.byte_tokenizer import FIRST_BYTE, ByteTokenizer
from reference_server.text.detokenizer import IncrementalDetokenizer

if TYPE_CHECKING:
    from reference_server.text.tokenizer import Tokenizer


def pieces(tokenizer: Tokenizer, ids: list[int], **options: bool) -> list[str]:
    detokenizer = IncrementalDetokenizer(tokenizer, **options)
    return [*(detokenizer.push(i) for i in ids), detokenizer.flush()]


def bytes_as_ids(data: bytes) -> list[int]:
    return [FIRST_BYTE + value for value in data]


@pytest.mark.parametrize("character", ["🤗", "世", "é", "a"])
def test_C1_01_a_character_is_held_until_it_is_complete(tiny: Tokenizer, character: str) -> None:
    """No U+FFFD for a character that comes in several tokens."""
    data = character.encode()
    expected = [*[""] * (len(data) - 1), character, ""]
    assert pieces(tiny, bytes_as_ids(data)) == expected


@given(st.lists(st.integers(0, 511), max_size=40))
def test_C1_01_joined_pieces_are_the_whole_text(ids: list[int]) -> None:
    """Whatever the tokens, valid UTF-8 or not; what is no character yet has no text."""
    tokenizer = ByteTokenizer()
    data = b"".join(tokenizer.token_bytes(i) for i in ids if not tokenizer.is_special(i))
    expected = codecs.getincrementaldecoder("utf-8")("replace").decode(data)
    assert "".join(pieces(tokenizer, ids)) == expected
    assert tokenizer.decode(ids) in (expected, expected + "\ufffd")


@given(st.binary(max_size=30))
def test_text_is_given_as_early_as_it_is_certain(data: bytes) -> None:
    """At most the three bytes of an unfinished character are held back."""
    detokenizer = IncrementalDetokenizer(ByteTokenizer())
    text = ""
    for position, token_id in enumerate(bytes_as_ids(data)):
        text += detokenizer.push(token_id)
        certain = data[: max(0, position - 2)].decode(errors="ignore")
        assert len(text.replace("\ufffd", "")) >= len(certain.replace("\ufffd", ""))


@pytest.mark.parametrize("num_bytes", [1, 2, 3])
def test_a_character_that_is_cut_off_has_no_text(
    tiny: Tokenizer, byte_fallback: Tokenizer, num_bytes: int
) -> None:
    """Where bytes are decoded, and where the library decodes."""
    cut = "🤗".encode()[:num_bytes]
    assert "".join(pieces(tiny, bytes_as_ids("é".encode() + cut))) == "é"
    hello = byte_fallback.vocab_size - 4
    assert "".join(pieces(byte_fallback, [hello, *(2 + value for value in cut)])) == "hello"
    assert "".join(pieces(byte_fallback, [2 + value for value in "🤗".encode() + cut])) == "🤗"


def test_bytes_that_begin_no_character_are_shown_as_such(tiny: Tokenizer, byte_fallback: Tokenizer) -> None:
    """In the middle and at the end; of what follows them only what is unfinished is left out."""
    data = b"a\xffb\xff"
    for cut in (b"", "世".encode()[:2]):
        assert "".join(pieces(tiny, bytes_as_ids(data + cut))) == "a\ufffdb\ufffd"
    assert "".join(pieces(byte_fallback, [2 + 0xFF, 2 + 0xE4])) == "\ufffd"


def test_special_tokens_are_shown_or_skipped(tiny: Tokenizer) -> None:
    ids = [0, *bytes_as_ids(b"hi"), 1]
    assert "".join(pieces(tiny, ids)) == "hi"
    assert "".join(pieces(tiny, ids, skip_special_tokens=False)) == "<bos>hi<eos>"


def test_a_skipped_token_does_not_break_a_character(tiny: Tokenizer) -> None:
    first, *rest = bytes_as_ids("é".encode())
    assert "".join(pieces(tiny, [first, 1, *rest])) == "é"


PROMPT = bytes_as_ids(b"long prompt " + "世".encode()[:2])


def first_pieces(tokenizer: Tokenizer, data: bytes) -> list[str]:
    detokenizer = IncrementalDetokenizer(tokenizer, prompt_ids=PROMPT)
    return [*(detokenizer.push(i) for i in bytes_as_ids(data)), detokenizer.flush()]


def test_C1_06_the_character_is_completed(tiny: Tokenizer) -> None:
    assert first_pieces(tiny, "世".encode()[2:] + b"x") == ["世", "x", ""]


def test_C1_06_an_unrelated_output_is_all_that_shows(tiny: Tokenizer) -> None:
    assert first_pieces(tiny, b"ab") == ["a", "b", ""]


def test_C1_06_nothing_comes_of_no_output(tiny: Tokenizer) -> None:
    assert first_pieces(tiny, b"") == [""]


@given(prompt=st.binary(max_size=12), output=st.binary(min_size=1, max_size=12))
@example(prompt=b"\xe0", output=b"\x80")
def test_C1_06_never_more_characters_than_bytes_put_out(prompt: bytes, output: bytes) -> None:
    detokenizer = IncrementalDetokenizer(ByteTokenizer(), prompt_ids=bytes_as_ids(prompt))
    for count, token_id in enumerate(bytes_as_ids(output), 1):
        assert len(detokenizer.push(token_id)) <= count


def test_C1_06_byte_fallback(byte_fallback: Tokenizer) -> None:
    """Where the library decodes, too."""
    hello = byte_fallback.vocab_size - 4
    half = [2 + value for value in "世".encode()[:2]]
    last = 2 + "世".encode()[2]
    completed = IncrementalDetokenizer(byte_fallback, prompt_ids=[hello, *half])
    assert [completed.push(last), completed.push(hello), completed.flush()] == ["世", " hello", ""]
    unrelated = IncrementalDetokenizer(byte_fallback, prompt_ids=[hello, *half])
    assert [unrelated.push(hello), unrelated.flush()] == [" hello", ""]


def test_words_keep_their_spaces(byte_fallback: Tokenizer) -> None:
    hello, world, plural, _ = range(byte_fallback.vocab_size - 4, byte_fallback.vocab_size)
    assert pieces(byte_fallback, [hello, world, plural]) == ["hello", " world", "s", ""]


def test_C1_01_characters_of_bytes_are_held(byte_fallback: Tokenizer) -> None:
    ids = [2 + value for value in "🤗é".encode()]
    assert pieces(byte_fallback, ids) == ["", "", "", "🤗", "", "é", ""]


def test_bytes_that_never_become_text_are_not_held_for_ever(byte_fallback: Tokenizer) -> None:
    shown = pieces(byte_fallback, [2 + 0xFF] * 20)
    assert "".join(shown) == "\ufffd" * 20
    assert any(shown[:-1])


def test_token_bytes(byte_fallback: Tokenizer) -> None:
    assert byte_fallback.token_bytes(2 + 0xE4) == b"\xe4"
    assert byte_fallback.token_text(byte_fallback.vocab_size - 3) == " world"
