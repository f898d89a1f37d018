"""GGUF files: tokenizer and chat template are part of the metadata."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import tokenizers
from tokenizers import AddedToken, decoders, models, normalizers

from reference_server.models.gguf_file import GGUFFile, is_gguf
from reference_server.text.chat_template import ChatTemplate
from reference_server.text.errors import TokenizerError
from reference_server.text.library_tokenizer import LibraryTokenizer
from reference_server.text.loaders import TextSide
from reference_server.text.pre_tokenizers import pre_tokenizer

if TYPE_CHECKING:
    from collections.abc import Mapping

_CONTROL, _USER_DEFINED = 3, 4
"""Values of ``tokenizer.ggml.token_type``."""

_SPECIAL_NAMES = {"bos": "bos_token", "eos": "eos_token", "unknown": "unk_token", "padding": "pad_token"}


def accepts(model: str) -> bool:
    """A file that begins as GGUF does, or whose name says so."""
    return is_gguf(Path(model))


def load(model: str) -> TextSide:
    """Read the metadata.

    Raises:
        TokenizerError: The vocabulary is of a kind that is not built, or incomplete.
        ChatTemplateError: The template is broken.
        CheckpointError: The file is.
    """
    metadata = GGUFFile(Path(model)).metadata
    return TextSide(_tokenizer(metadata), _chat_template(metadata))


def _tokenizer(metadata: Mapping[str, Any]) -> LibraryTokenizer:
    kind, cut = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre", "default")
    if kind != "gpt2":
        raise TokenizerError(
            f"the GGUF file's vocabulary is of kind {kind!r}, which is not supported; byte-level BPE "
            "('gpt2') is. A Hugging Face folder of the same model works with any tokenizer.json"
        )
    library = tokenizers.Tokenizer(_byte_pairs(metadata, ignore_merges=cut == "llama-bpe"))
    library.pre_tokenizer = pre_tokenizer(cut)
    library.decoder = decoders.ByteLevel()
    if cut == "qwen2":
        library.normalizer = normalizers.NFC()
    library.add_special_tokens(_tokens_of_type(metadata, _CONTROL))
    library.add_tokens(_tokens_of_type(metadata, _USER_DEFINED))
    return LibraryTokenizer(
        library,
        bos_token_id=metadata.get("tokenizer.ggml.bos_token_id"),
        eos_token_id=metadata.get("tokenizer.ggml.eos_token_id"),
        add_bos=metadata.get("tokenizer.ggml.add_bos_token", cut == "llama-bpe"),
    )


def _byte_pairs(metadata: Mapping[str, Any], *, ignore_merges: bool) -> models.BPE:
    vocabulary = {name: token_id for token_id, name in enumerate(_list(metadata, "tokens"))}
    merges = [tuple(merge.split(" ", 1)) for merge in _list(metadata, "merges")]
    return models.BPE(vocabulary, merges, ignore_merges=ignore_merges)


def _tokens_of_type(metadata: Mapping[str, Any], token_type: int) -> list[AddedToken]:
    names, types = _list(metadata, "tokens"), _list(metadata, "token_type")
    return [
        AddedToken(name, normalized=False, special=token_type == _CONTROL)
        for name, type_ in zip(names, types, strict=True)
        if type_ == token_type
    ]


def _list(metadata: Mapping[str, Any], key: str) -> list[Any]:
    value = metadata.get(f"tokenizer.ggml.{key}")
    if not isinstance(value, list):
        raise TokenizerError(f"the GGUF file has no tokenizer.ggml.{key}; convert or fetch the model again")
    return value


def _chat_template(metadata: Mapping[str, Any]) -> ChatTemplate | None:
    source = metadata.get("tokenizer.chat_template")
    return ChatTemplate(source, _special_tokens(metadata)) if source else None


def _special_tokens(metadata: Mapping[str, Any]) -> dict[str, str]:
    names = _list(metadata, "tokens")
    ids = {own: metadata.get(f"tokenizer.ggml.{key}_token_id") for key, own in _SPECIAL_NAMES.items()}
    return {own: names[token_id] for own, token_id in ids.items() if token_id is not None}
