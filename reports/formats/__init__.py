"""The forms in which a result is written to disk. A report is one new file in this folder.

The file's name is the report's name; a module or a package whose name does not begin with an
underscore. It has

``FILE_NAME: str``
    what it is called in the result folder,
``render(result: Result) -> str``
    the whole text, a pure function of the result.

Reports are imported when they are asked for.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Protocol, cast

from reports.extensions import extension_names, load_extension
from reports.whole_file import write_text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from reports.result import Result


class UnknownReportError(ValueError):
    """No report of that name; the message lists those there are."""


class Report(Protocol):
    """What a report's module has to offer."""

    FILE_NAME: str

    def render(self, result: Result) -> str:
        """The whole text of the file."""


def names() -> tuple[str, ...]:
    """All reports there are, in alphabetical order."""
    return extension_names(__name__)


def get(name: str) -> Report:
    """The report of that name.

    Raises:
        UnknownReportError: There is none.
    """
    known = names()
    if name not in known:
        close = [each for each in known if name in each] or difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise UnknownReportError(f"no report {name!r}; {hint}there are: {', '.join(known)}")
    return cast("Report", load_extension(__name__, name))


def write_reports(result: Result, folder: Path, wanted: Iterable[str] | None = None) -> dict[str, Path]:
    """Write reports of ``result`` into ``folder``, each whole or not at all; None means all of them.

    Returns:
        The files written, by report name.

    Raises:
        UnknownReportError: One isn't known; nothing was written.
        OSError: A file can't be written.
    """
    chosen = {name: get(name) for name in (names() if wanted is None else wanted)}
    folder.mkdir(parents=True, exist_ok=True)
    return {name: _write(folder / report.FILE_NAME, report.render(result)) for name, report in chosen.items()}


def _write(path: Path, text: str) -> Path:
    write_text(path, text)
    return path
