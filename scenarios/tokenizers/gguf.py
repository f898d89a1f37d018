"""The tokenizer inside a GGUF file: byte-level vocabularies, which most models have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from scenarios.errors import ScenarioError
from scenarios.tokenizers._gguf_metadata import MAGIC, read_metadata
from scenarios.tokenizers._library import library

if TYPE_CHECKING:
    from pathlib import Path

    import tokenizers

_CONTROL, _USER_DEFINED = 3, 4
"""Values of ``tokenizer.ggml.token_type``."""

_LLAMA3: Final = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN2: Final = _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
_GPT2, _SINGLE_DIGITS = "gpt-2", "smollm"
_CUTS: Final = {
    "gpt-2": _GPT2,
    "mpt": _GPT2,
    "olmo": _GPT2,
    "phi-2": _GPT2,
    "command-r": _SINGLE_DIGITS,
    "refact": _SINGLE_DIGITS,
    "smollm": _SINGLE_DIGITS,
    "starcoder": _SINGLE_DIGITS,
    "llama-bpe": _LLAMA3,
    "llama-v3": _LLAMA3,
    "llama3": _LLAMA3,
    "deepseek-r1-qwen": _QWEN2,
    "qwen2": _QWEN2,
}
"""How text is cut before merging, by the names in ``tokenizer.ggml.pre``."""


def accepts(path: Path) -> bool:
    """A file that begins as GGUF does."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def load(path: Path) -> tokenizers.Tokenizer:
    """Read the file's metadata.

    Raises:
        ScenarioError: The file is cut short, or its vocabulary is of a kind that is not supported.
    """
    metadata = read_metadata(path)
    kind, cut = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre", "default")
    if kind != "gpt2":
        raise ScenarioError(f"tokenizer: {path} has a vocabulary of kind {kind!r}; {_REMEDY}")
    if cut not in _CUTS:
        raise ScenarioError(f"tokenizer: {path} cuts text by rules named {cut!r}; {_REMEDY}")
    return _byte_level(metadata, cut, path)


_REMEDY: Final = "that isn't supported: name the tokenizer.json of the same model, or write tokenizer: server"


def _byte_level(metadata: dict[str, Any], cut: str, path: Path) -> tokenizers.Tokenizer:
    tokens, types, merges = (_list(metadata, key, path) for key in ("tokens", "token_type", "merges"))
    ids = {name: token_id for token_id, name in enumerate(tokens)}
    pairs = [tuple(merge.split(" ", 1)) for merge in merges]
    hf = library()
    found: tokenizers.Tokenizer = hf.Tokenizer(hf.models.BPE(ids, pairs, ignore_merges=_CUTS[cut] == _LLAMA3))
    found.pre_tokenizer = _pre_tokenizer(_CUTS[cut])
    if _CUTS[cut] == _QWEN2:
        found.normalizer = hf.normalizers.NFC()
    for token_type, add in ((_CONTROL, found.add_special_tokens), (_USER_DEFINED, found.add_tokens)):
        named = (name for name, each in zip(tokens, types, strict=True) if each == token_type)
        add([hf.AddedToken(name, normalized=False, special=token_type == _CONTROL) for name in named])
    return found


def _pre_tokenizer(rule: str) -> tokenizers.pre_tokenizers.PreTokenizer:
    made = library().pre_tokenizers
    to_bytes = made.ByteLevel(add_prefix_space=False, use_regex=rule in (_GPT2, _SINGLE_DIGITS))
    before = {_GPT2: [], _SINGLE_DIGITS: [made.Digits(individual_digits=True)]}.get(rule)
    if before is None:
        before = [made.Split(library().Regex(rule), behavior="isolated")]
    found: tokenizers.pre_tokenizers.PreTokenizer = made.Sequence([*before, to_bytes])
    return found


def _list(metadata: dict[str, Any], key: str, path: Path) -> list[Any]:
    value = metadata.get(f"tokenizer.ggml.{key}")
    if not isinstance(value, list):
        raise ScenarioError(f"tokenizer: {path} has no tokenizer.ggml.{key}; convert or fetch it again")
    return value
