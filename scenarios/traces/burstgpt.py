"""BurstGPT traces: CSV with Timestamp (s), Request tokens, Response tokens, and more that isn't read.

Source: HPMLL/BurstGPT, releases 1.1 and later; the third trace has Session ID and Elapsed time besides.
Requests that failed there have no response tokens; the files ``without_fails`` are without them too.
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Final

from scenarios.errors import ScenarioError
from scenarios.traces import TraceRow, is_length

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_COLUMNS: Final = ("Timestamp", "Request tokens", "Response tokens")
_SECONDS: Final = re.compile(r"(\d{1,10})(?:\.(\d{1,9})\d*)?", re.ASCII)


def read(path: Path) -> Iterator[TraceRow]:
    """The rows of a trace.

    Raises:
        ScenarioError: A column is missing, or a row has no time or no lengths.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file)
        try:
            places = _places(next(rows, []), path)
            for row in rows:
                if row:
                    yield _row(row, places, f"{path}:{rows.line_num}")
        except csv.Error as error:
            raise ScenarioError(f"{path}:{rows.line_num}: {error}") from error


def _places(header: Sequence[str], path: Path) -> tuple[int, ...]:
    if missing := [column for column in _COLUMNS if column not in header]:
        raise ScenarioError(f"{path}: no column {' or '.join(missing)}; is this a BurstGPT trace?")
    return tuple(header.index(column) for column in _COLUMNS)


def _row(row: Sequence[str], places: Sequence[int], place: str) -> TraceRow:
    time, asked, answered = (row[at] if at < len(row) else "" for at in places)
    match = _SECONDS.fullmatch(time)
    if match is None or not is_length(asked) or not is_length(answered):
        raise ScenarioError(f"{place}: {f'{time},{asked},{answered}'!r} is no time and two lengths")
    time_ns = int(match[1]) * 1_000_000_000 + int((match[2] or "0").ljust(9, "0"))
    return TraceRow(time_ns, int(asked), int(answered), failed=int(answered) == 0)
