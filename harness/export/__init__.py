"""Tables of a run, made from its journal row by row.

A table is one file of this folder, and the file's name is the table's name. It has

``MEANING: str``
    what a row is,
``columns() -> tuple[Column, ...]``
    its columns, each with its unit, its basis and its meaning,
``rows(run: ExportedRun) -> Iterator[Row]``
    the rows, read as they are asked for.

docs/export.md lists the columns; it is made from them. Histograms are no tables: see ``_histograms``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, cast

from harness.export._histograms import HISTOGRAMS, export_histograms
from harness.export._run import ExportedRun
from reports import tables
from reports.extensions import extension_names, load_extension
from reports.whole_file import whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reports.tables import Column, Row

__all__ = [
    "HISTOGRAMS",
    "SCHEMA_VERSION",
    "ExportedRun",
    "export",
    "export_histograms",
    "names",
    "table",
]

SCHEMA_VERSION: Final = 1


class Table(Protocol):
    """What a table's module has to offer."""

    MEANING: str

    def columns(self) -> tuple[Column, ...]:
        """See the package."""

    def rows(self, run: ExportedRun) -> Iterator[Row]:
        """See the package."""


def names() -> tuple[str, ...]:
    """All tables there are, in alphabetical order."""
    return extension_names(__name__)


def table(name: str) -> Table:
    """The table of that name.

    Raises:
        TableError: There is none.
    """
    if name not in names():
        raise tables.TableError(f"no table {name!r}; there are: {', '.join(names())}, and {HISTOGRAMS}")
    return cast("Table", load_extension(__name__, name))


def export(run: ExportedRun, name: str, format_name: str, path: Path) -> int:
    """Write a table of a run to ``path``, whole or not at all; the number of its rows.

    Raises:
        TableError: There is no such table or format, or a library for it is missing.
        HarnessError: The journal can't be read.
        OSError: The file can't be written.
    """
    chosen, form = table(name), tables.get(format_name)
    with whole(path) as temporary:
        return form.write(temporary, chosen.columns(), chosen.rows(run), _facts(run, name))


def _facts(run: ExportedRun, name: str) -> dict[str, str]:
    manifest = run.manifest
    return {
        "tokenpace.table": name,
        "tokenpace.schema_version": str(SCHEMA_VERSION),
        "tokenpace.version": manifest.tool_version,
        "tokenpace.base_url": manifest.base_url,
        "tokenpace.model": manifest.model,
        "tokenpace.started_at": manifest.started_at,
        "tokenpace.loop": manifest.loop,
    }
