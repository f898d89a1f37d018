"""The real model's tokenizer and template, against transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tokenizers import pre_tokenizers

from reference_server.text.detokenizer import IncrementalDetokenizer

if TYPE_CHECKING:
    from reference_server.text.loaders import TextSide

pytestmark = pytest.mark.model

NUMBERS_AFTER_SPACE = ["a  1", "  12 x", "x \n5", "① ⅷ", "ªº ²", "    0x1F", "| 1 |  22 |   333 |"]
"""Digits must be cut off before spaces are; transformers ignores how a GGUF file says to cut."""

CONVERSATIONS: list[list[dict[str, str]]] = [
    [{"role": "user", "content": "Hi"}],
    [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "你好 🤗"}],
    [
        {"role": "user", "content": "1+1?"},
        {"role": "assistant", "content": "2"},
        {"role": "user", "content": "  spaced \n lines\n\n"},
    ],
    [{"role": "system", "content": ""}],
    [{"role": "user", "content": "<|im_end|> {{ 7 * 7 }} {% if %}"}],
    [{"role": "assistant", "content": "I begin."}, {"role": "assistant", "content": "And again."}],
    [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}],
]


def test_ids_equal_transformers(smollm2: TextSide, oracle: Any, multilingual: list[str]) -> None:
    assert len(multilingual) >= 200
    different = {
        t: (ids, ours)
        for t in multilingual
        if (ids := oracle(t)["input_ids"]) != (ours := smollm2.tokenizer.encode(t))
    }
    assert different == {}


def test_text_equals_transformers(smollm2: TextSide, oracle: Any, multilingual: list[str]) -> None:
    for text in multilingual:
        ids = smollm2.tokenizer.encode(text)
        for skip in (False, True):
            ours = smollm2.tokenizer.decode(ids, skip_special_tokens=skip)
            assert ours == oracle.decode(ids, skip_special_tokens=skip)


def test_digits_are_cut_off_first(smollm2: TextSide, oracle: Any) -> None:
    """As the vocabulary was trained, and as the file says ('smollm'): equal once transformers is told so."""
    before = [oracle(text)["input_ids"] for text in NUMBERS_AFTER_SPACE]
    library = oracle.backend_tokenizer
    untold = library.pre_tokenizer
    library.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    try:
        told = [library.encode(text).ids for text in NUMBERS_AFTER_SPACE]
    finally:
        library.pre_tokenizer = untold
    ours = [smollm2.tokenizer.encode(text) for text in NUMBERS_AFTER_SPACE]
    assert ours == told
    assert all(a != b for a, b in zip(ours, before, strict=True)), "the cases show nothing any more"


@pytest.mark.parametrize("text", ["a\ud800b", "\udfff", "\ud83e\udd17", "x\udc00\ud800y"])
def test_surrogates_are_joined_or_replaced(smollm2: TextSide, text: str) -> None:
    """What no UTF-8 can say must not break the server: pairs are characters, halves count as U+FFFD."""
    proper = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    ids = smollm2.tokenizer.encode(text)
    assert ids == smollm2.tokenizer.encode(proper)
    assert smollm2.tokenizer.decode(ids) == proper


def test_special_tokens_and_sizes(smollm2: TextSide, oracle: Any) -> None:
    tokenizer = smollm2.tokenizer
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.vocab_size) == (1, 2, 49152)
    special = [i for i in range(tokenizer.vocab_size) if tokenizer.is_special(i)]
    assert special == sorted(i for i, token in oracle.added_tokens_decoder.items() if token.special)
    assert tokenizer.token_bytes(2) == b"<|im_end|>"


@pytest.mark.parametrize("add_generation_prompt", [False, True])
@pytest.mark.parametrize("conversation", CONVERSATIONS)
def test_chat_template_equals_transformers(
    smollm2: TextSide, oracle: Any, conversation: list[dict[str, str]], add_generation_prompt: bool
) -> None:
    assert smollm2.chat_template is not None
    ours = smollm2.chat_template.render(conversation, add_generation_prompt=add_generation_prompt)
    theirs = oracle.apply_chat_template(
        conversation, tokenize=False, add_generation_prompt=add_generation_prompt
    )
    assert ours == theirs


def test_C1_01_streamed_text_is_whole_characters(smollm2: TextSide, multilingual: list[str]) -> None:
    """Joined pieces are the whole text, and U+FFFD shows only where it was in the text."""
    for text in multilingual:
        ids = smollm2.tokenizer.encode(text)
        detokenizer = IncrementalDetokenizer(smollm2.tokenizer)
        pieces = [*(detokenizer.push(i) for i in ids), detokenizer.flush()]
        assert "".join(pieces) == smollm2.tokenizer.decode(ids)
        assert any("\ufffd" in piece for piece in pieces) == ("\ufffd" in text)


def test_a_text_that_is_cut_after_any_token_holds_whole_characters(smollm2: TextSide) -> None:
    """An emoji takes several tokens of one or more bytes."""
    text = "ok 🤗👩‍🚀"
    ids = smollm2.tokenizer.encode(text)
    assert len(ids) > len(text) + 2
    for end in range(len(ids) + 1):
        detokenizer = IncrementalDetokenizer(smollm2.tokenizer)
        shown = "".join([*(detokenizer.push(i) for i in ids[:end]), detokenizer.flush()])
        data = b"".join(map(smollm2.tokenizer.token_bytes, ids[:end]))
        assert shown == data.decode(errors="ignore")
        assert text.startswith(shown)
