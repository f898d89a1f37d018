"""The files that show a sweep, beside its ``sweep.json``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.sweep import html, markdown, points_csv
from reports.whole_file import write_texts

if TYPE_CHECKING:
    from pathlib import Path

    from reports.sweep.table import Sweep

_FILES = {"sweep.html": html.render, "sweep.md": markdown.render, "sweep.csv": points_csv.render}


def write_files(sweep: Sweep, folder: Path) -> tuple[Path, ...]:
    """Write all of them, each whole or not at all.

    Raises:
        OSError: One can't be written.
    """
    return write_texts(folder, {file: render(sweep) for file, render in _FILES.items()})
