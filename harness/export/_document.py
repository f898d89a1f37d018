"""The text of docs/export.md, made from the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from harness.export import SCHEMA_VERSION, names, table
from reports import tables

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD: Final = """\
# Exported tables

    tokenpace export results/chat-20261130-092715                                  # requests.csv
    tokenpace export results/chat-20261130-092715 --what requests --what chunks --format parquet

Tables are made from the journal row by row, so that a run of any length fits in memory. They go into the
result folder, or where `--output` says. All `*_ns` are nanoseconds of one monotonic clock. An instant
(`due_ns`, `sent_ns`, `at_ns`, ...) counts from the start of the run; for a duration the column says from when
to when. A value that isn't known is missing (CSV: empty), never 0.

CSV is UTF-8 with a head line. A text that a spreadsheet would run as a formula (it begins with `=`, `+`, `-`
or `@`) has an apostrophe before it. Parquet needs pyarrow (`pip install 'tokenpace[parquet]'`); its fields
carry the meanings below, and its metadata say what run it is of.
"""


def document() -> str:
    """Markdown."""
    head = f"{_HEAD}\nSchema version {SCHEMA_VERSION}. Formats: {', '.join(tables.names())}.\n"
    return head + "".join("\n" + "\n".join(_section(name)) + "\n" for name in names())


def _section(name: str) -> Iterator[str]:
    chosen = table(name)
    yield f"## {name}\n"
    yield f"{chosen.MEANING}\n"
    yield "| column | values | meaning |"
    yield "|---|---|---|"
    for column in chosen.columns():
        yield f"| `{column.name}` | {column.kind.value} | {column.meaning} |"
