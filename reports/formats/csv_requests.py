"""The requests of a result as CSV, one row each, times in nanoseconds.

A text cell that a spreadsheet would run as a formula is written with an apostrophe before it.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from reports.result import RequestRow
from reports.text import one_line

if TYPE_CHECKING:
    from reports.result import Result

FILE_NAME = "requests.csv"

_IN_NS = {"ttft", "tpot", "e2e", "schedule_lag"}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def render(result: Result) -> str:
    """A head line and one line for each request."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    fields = RequestRow.__struct_fields__
    writer.writerow(f"{field}_ns" if field in _IN_NS else field for field in fields)
    writer.writerows([_cell(getattr(row, field)) for field in fields] for row in result.requests)
    return file.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return _harmless(one_line(value)) if isinstance(value, str) else value


def _harmless(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text
