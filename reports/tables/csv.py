"""CSV: a head line, a line for each row, UTF-8. Missing values are empty, truths are ``true`` and ``false``.

A text that a spreadsheet would run as a formula is written with an apostrophe before it.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Final

from reports.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from reports.tables import Column, Row, Value

SUFFIX: Final = ".csv"
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def write(path: Path, columns: Sequence[Column], rows: Iterable[Row], facts: Mapping[str, str]) -> int:
    """See ``reports.tables``. CSV has no place for facts."""
    del facts
    num_rows = 0
    with path.open("x", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([column.name for column in columns])
        for row in rows:
            writer.writerow([_cell(value) for value in row])
            num_rows += 1
    return num_rows


def _cell(value: Value) -> Value:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _harmless(one_line(value)) if isinstance(value, str) else value


def _harmless(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text
