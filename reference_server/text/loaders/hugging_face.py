"""Hugging Face folders: ``tokenizer.json``; the template is a file or part of the configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import tokenizers

from reference_server.text.chat_template import ChatTemplate
from reference_server.text.errors import TokenizerError
from reference_server.text.library_tokenizer import LibraryTokenizer
from reference_server.text.loaders import TextSide

_SPECIAL_NAMES = ("bos_token", "eos_token", "unk_token", "pad_token")


def accepts(model: str) -> bool:
    """Any folder."""
    return model != "" and Path(model).is_dir()


def load(model: str) -> TextSide:
    """Read the files.

    Raises:
        TokenizerError: ``tokenizer.json`` is missing or broken.
        ChatTemplateError: The template is broken.
    """
    folder = Path(model)
    config = _read_config(folder / "tokenizer_config.json")
    special = {name: text for name in _SPECIAL_NAMES if (text := _text(config.get(name))) is not None}
    library = _read_library(folder / "tokenizer.json")
    tokenizer = LibraryTokenizer(
        library,
        bos_token_id=library.token_to_id(special.get("bos_token", "")),
        eos_token_id=library.token_to_id(special.get("eos_token", "")),
    )
    source = _template_source(folder, config)
    return TextSide(tokenizer, ChatTemplate(source, special) if source else None)


def _read_library(path: Path) -> tokenizers.Tokenizer:
    if not path.is_file():
        raise TokenizerError(
            f"{path} is missing; make it with transformers: "
            "AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)"
        )
    try:
        return tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing more special
        raise TokenizerError(f"{path} is no tokenizer ({error}); fetch it again") from error


def _read_config(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise TokenizerError(f"{path} is broken ({error}); fetch it again") from error


def _text(token: Any) -> str | None:  # noqa: ANN401  # text, or an object with it
    return token.get("content") if isinstance(token, dict) else token


def _template_source(folder: Path, config: dict[str, Any]) -> str | None:
    """A file of its own wins; of several named templates it is ``default``."""
    file = folder / "chat_template.jinja"
    if file.is_file():
        return file.read_text(encoding="utf-8")
    source = config.get("chat_template")
    if isinstance(source, list):
        return next((entry["template"] for entry in source if entry["name"] == "default"), None)
    return source
