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
    tokenpace export results/chat-20261130-092715 --what histograms --metric ttft --format hgrm    # ttft.hgrm

Tables are made from the journal row by row, so that a run of any length fits in memory. They go into the
result folder, or where `--output` says. All `*_ns` are nanoseconds of one monotonic clock. An instant
(`due_ns`, `sent_ns`, `at_ns`, ...) counts from the start of the run; for a duration the column says from when
to when. A value that isn't known is missing (CSV: empty), never 0.

CSV is UTF-8 with a head line. A text that a spreadsheet would run as a formula (it begins with `=`, `+`, `-`
or `@`) has an apostrophe before it. Parquet needs pyarrow (`pip install 'tokenpace[parquet]'`); its fields
carry the meanings below, and its metadata say what run it is of.

A request is exported once. Where the journal holds it twice, or fewer requests than the run wrote, a warning
says so.
"""
_HISTOGRAMS: Final = """
## histograms

The whole distribution of each metric over the measured window, a file for each, from `histograms.hlog` (which
every run leaves: all of them in one log, each under its tag). `--metric` chooses, by the names that
objectives have: `ttft` counts from when a request was due, `service_ttft` from when it was sent. Times are in
milliseconds, all else is in its own unit. Percentiles are those of the report to 3 significant digits: the
files hold counts of buckets, so the largest value and the mean are those of the buckets too. Within a log the
histogram counts steps: microseconds, tokens, 0.001 tokens/s, 0.05 %.

| format | file | for |
|---|---|---|
| `hgrm` | `ttft.hgrm` | HdrHistogram's plotter (plotFiles), hdr-plot |
| `hdrlog` | `ttft.hlog` | HistogramLogAnalyzer, HdrHistogramVisualizer, and to be merged with other logs |
"""


def document() -> str:
    """Markdown."""
    head = f"{_HEAD}\nSchema version {SCHEMA_VERSION}. Formats: {', '.join(tables.names())}.\n"
    sections = "".join("\n" + "\n".join(_section(name)) + "\n" for name in names())
    return head + _HISTOGRAMS + sections


def _section(name: str) -> Iterator[str]:
    chosen = table(name)
    yield f"## {name}\n"
    yield f"{chosen.MEANING}\n"
    yield "| column | values | meaning |"
    yield "|---|---|---|"
    for column in chosen.columns():
        yield f"| `{column.name}` | {column.kind.value} | {column.meaning} |"
