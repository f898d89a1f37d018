"""The files that show a search, beside its ``capacity.json``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.capacity import html, knee_csv, markdown
from reports.whole_file import write_texts

if TYPE_CHECKING:
    from pathlib import Path

    from reports.capacity.search import Capacity

_FILES = {"capacity.html": html.render, "capacity.md": markdown.render, "knee.csv": knee_csv.render}


def write_files(capacity: Capacity, folder: Path) -> tuple[Path, ...]:
    """Write all of them, each whole or not at all.

    Raises:
        OSError: One can't be written.
    """
    return write_texts(folder, {file: render(capacity) for file, render in _FILES.items()})
