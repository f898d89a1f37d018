"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A file beside ``path`` to be written: it takes its place if the block ends well, and else is gone.

    Raises:
        OSError: It can't be written.
    """
    temporary = path.with_name(path.name + ".tmp")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_bytes(path: Path, data: bytes) -> None:
    """Write ``data``; errors as of ``whole``."""
    with whole(path) as temporary:
        temporary.write_bytes(data)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` in UTF-8, what that can't hold as escapes; errors as of ``whole``."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_texts(folder: Path, texts: Mapping[str, str]) -> tuple[Path, ...]:
    """Write each text to the file of its name in ``folder``; their paths. Errors as of ``whole``."""
    for name, text in texts.items():
        write_text(folder / name, text)
    return tuple(folder / name for name in texts)


def write_json(path: Path, document: msgspec.Struct) -> None:
    """Write ``document`` as strict JSON for people to read; errors as of ``whole``."""
    write_bytes(path, msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n")
