"""The file that shows an experiment, beside its ``lab.json``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.lab import html
from reports.whole_file import write_texts

if TYPE_CHECKING:
    from pathlib import Path

    from reports.lab.table import Lab


def write_files(lab: Lab, folder: Path) -> tuple[Path, ...]:
    """Write it whole or not at all.

    Raises:
        OSError: It can't be written.
    """
    return write_texts(folder, {"lab.html": html.render(lab)})
