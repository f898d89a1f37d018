"""A comparison of two runs, or groups of runs: all that its reports show, so that they need not compute.

``document`` is what is saved as JSON. A report is a module here with ``render(comparison) -> str``, as those
of a single run are; ``console`` is shown and not written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.extensions import load_extension
from reports.whole_file import write_text

if TYPE_CHECKING:
    from pathlib import Path

    from reports.comparison.document import Comparison


def write(comparison: Comparison, name: str, path: Path) -> None:
    """Write the report of that name, ``html``, ``markdown`` or ``json``, whole or not at all.

    Raises:
        OSError: The file can't be written.
    """
    text: str = load_extension(__name__, name).render(comparison)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)
