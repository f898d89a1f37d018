"""SHA-256 of files."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from reference_server.model_store.errors import ChecksumError

if TYPE_CHECKING:
    from pathlib import Path


def sha256_of(path: Path) -> str:
    """The digest of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_digest(path: Path, expected: str) -> None:
    """Raise ``ChecksumError`` if the file has another digest."""
    found = sha256_of(path)
    if found != expected:
        raise ChecksumError(
            f"{path.name} has the SHA-256 {found[:16]}..., not {expected[:16]}...: it is damaged or "
            "another file; nothing was kept"
        )
