"""Files that are written whole or not at all.

What the user names is left what it is: through a link the file that it points to is replaced and the link
stays, and what is no regular file (a device, a pipe, our own output) is written into.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A new file to be written: if the block ends well it becomes ``path``, or goes into what that is.

    Raises:
        OSError: It can't be written; ``IsADirectoryError`` where ``path`` is a folder.
    """
    with _into(path) if _is_written_into(path) else _in_place_of(Path(os.path.realpath(path))) as temporary:
        yield temporary


def _is_written_into(path: Path) -> bool:
    """Whether nothing may take its place: a device, a pipe, a file that is our own output."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return False
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    return not stat.S_ISREG(status.st_mode) or _own_output(status) is not None


@contextlib.contextmanager
def _in_place_of(path: Path) -> Iterator[Path]:
    temporary = path.with_name(path.name + ".tmp")
    temporary.unlink(missing_ok=True)
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def _into(path: Path) -> Iterator[Path]:
    """The file is made elsewhere, since some formats go back in it, and copied once it is whole."""
    with tempfile.TemporaryDirectory(prefix="tokenpace-") as folder:
        temporary = Path(folder, "whole")
        yield temporary
        with temporary.open("rb") as source, _opened(path) as target:
            shutil.copyfileobj(source, target)


def _opened(path: Path) -> BinaryIO:
    """To write into: at its present end where it is our own output, whose other words are to stay."""
    own = _own_output(path.stat())
    return os.fdopen(os.open(path, os.O_WRONLY) if own is None else os.dup(own), "wb")


def _own_output(status: os.stat_result) -> int | None:
    """The descriptor of standard output or error that is this file, if one is."""
    for descriptor in (1, 2):
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), status):
                return descriptor
    return None


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
