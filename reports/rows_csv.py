"""Rows of runs as CSV."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Final

from reports.run_row import PERCENTILES, TIMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from reports.run_row import RunRow

LATENCY_COLUMNS: Final = tuple(f"{name}_p{p:.0f}_ns" for name in TIMES for p in PERCENTILES)


def latency_cells(row: RunRow) -> Iterator[float | None]:
    """The values of ``LATENCY_COLUMNS``."""
    for name in TIMES:
        latency = row.latency(name)
        yield from (None if latency is None else getattr(latency, f"p{p:.0f}") for p in PERCENTILES)


def csv_text(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """With a header; an unknown value is empty."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return file.getvalue()
