"""Azure LLM inference traces: CSV with TIMESTAMP, ContextTokens, GeneratedTokens.

Source: Azure/AzurePublicDataset, the 2023 ("Splitwise") and 2024 ("DynamoLLM") traces.
"""

from __future__ import annotations

import csv
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from scenarios.errors import ScenarioError
from scenarios.traces import TraceRow, is_length

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_COLUMNS: Final = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:\+00:00)?", re.ASCII)


def read(path: Path) -> Iterator[TraceRow]:
    """The rows of a trace.

    Raises:
        ScenarioError: A column is missing, or a row has no time or no lengths.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        if missing := [column for column in _COLUMNS if column not in (rows.fieldnames or ())]:
            raise ScenarioError(f"{path}: no column {' or '.join(missing)}; is this an Azure trace?")
        try:
            for row in rows:
                yield _row(row, f"{path}:{rows.line_num}")
        except csv.Error as error:
            raise ScenarioError(f"{path}:{rows.line_num + 1}: {error}") from error


def _row(row: dict[str, str], place: str) -> TraceRow:
    time, context, generated = (row[column] or "" for column in _COLUMNS)
    match = _TIME.fullmatch(time)
    if match is None or not is_length(context) or not is_length(generated):
        raise ScenarioError(f"{place}: {f'{time},{context},{generated}'!r} is no time and two lengths")
    seconds = int(datetime.fromisoformat(match[1]).replace(tzinfo=UTC).timestamp())
    nanoseconds = int((match[2] or "0").ljust(9, "0"))
    return TraceRow(seconds * 1_000_000_000 + nanoseconds, int(context), int(generated))
