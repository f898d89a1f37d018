"""Documents on disk: one structure as JSON, with the version of its schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

if TYPE_CHECKING:
    from pathlib import Path

D = TypeVar("D", bound=msgspec.Struct)


class DocumentError(ValueError):
    """A document that can't be read. The message names the file and the fault."""


class _Versioned(msgspec.Struct):
    schema_version: int


def read_document(path: Path, kind: type[D], version: int, name: str) -> D:
    """Read a document.

    Args:
        path: Its file.
        kind: What it is.
        version: Of the schema that this tokenpace reads.
        name: What it is called: ``tokenpace result``.

    Raises:
        DocumentError: It can't be read, is none, or is of another version.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DocumentError(f"{path}: cannot be read ({error.strerror})") from error
    try:
        found = msgspec.json.decode(data, type=_Versioned).schema_version
        if found != version:
            raise DocumentError(f"{path}: schema version {found}, this tokenpace reads {version}")
        return msgspec.json.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        raise DocumentError(f"{path}: not a {name}, or damaged ({error})") from error


def schema_text(kind: type[msgspec.Struct], version: int, name: str) -> str:
    """JSON Schema (draft 2020-12) of a document, as a file in ``docs`` holds it."""
    head: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{name}, schema version {version}",
    }
    schema = head | msgspec.json.schema(kind)
    return msgspec.json.format(msgspec.json.encode(schema), indent=2).decode() + "\n"
