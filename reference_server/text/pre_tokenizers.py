"""How byte-level vocabularies cut text before merging, by the names that GGUF files give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokenizers import Regex, pre_tokenizers

from reference_server.text.errors import TokenizerError

if TYPE_CHECKING:
    from collections.abc import Callable

_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN2 = _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")

PreTokenizer = pre_tokenizers.PreTokenizer


def _gpt2() -> PreTokenizer:
    return pre_tokenizers.ByteLevel(add_prefix_space=False)


def _digits_then_gpt2() -> PreTokenizer:
    return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), _gpt2()])


def _by_regex(pattern: str) -> PreTokenizer:
    split = pre_tokenizers.Split(Regex(pattern), behavior="isolated")
    return pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


_BY_NAME: dict[str, Callable[[], PreTokenizer]] = {
    "gpt-2": _gpt2,
    "smollm": _digits_then_gpt2,
    "llama-bpe": lambda: _by_regex(_LLAMA3),
    "qwen2": lambda: _by_regex(_QWEN2),
}


def pre_tokenizer(name: str) -> PreTokenizer:
    """The pre-tokenizer that a GGUF file names in ``tokenizer.ggml.pre``.

    Raises:
        TokenizerError: It is not built.
    """
    if name not in _BY_NAME:
        raise TokenizerError(
            f"pre-tokenizer {name!r} is not supported; supported are {', '.join(sorted(_BY_NAME))}. "
            "A Hugging Face folder of the same model brings its own"
        )
    return _BY_NAME[name]()
