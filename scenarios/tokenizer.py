"""Who counts tokens for a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, PlainSerializer, ValidationInfo

from scenarios.section import fault

WORDS: Final = "words"
SERVER: Final = "server"


def _resolve(value: object, info: ValidationInfo) -> object:
    if value in (WORDS, SERVER):
        return value
    if not isinstance(value, str | Path):
        raise fault(f"{_KNOWN}; not {value!r}")
    folder: Path = (info.context or {}).get("folder", Path())
    path = folder / Path(value).expanduser()
    if not path.exists():
        raise fault(f"no file or folder {path}; {_KNOWN}; models are not looked up by name")
    return path


_KNOWN: Final = "write words, server, or the path of a tokenizer.json, of a model's folder or of a .gguf file"

Tokenizer = Annotated[
    Path | Literal["words", "server"],
    BeforeValidator(_resolve),
    PlainSerializer(str, return_type=str, when_used="json"),
]
"""A scenario field: ``words`` (nobody counts tokens), ``server`` (its own tokenize call), or a path."""
