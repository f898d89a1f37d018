"""A row for each slice of the run: what the charts over time show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reports.document import DocumentError
from reports.tables import Column, Kind, TableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.export._run import ExportedRun
    from reports.result import Percentile
    from reports.tables import Row

MEANING: Final = "A slice of the run, in order of time; slices are equally long."
_COUNTS: Final = (
    Column("in_flight", Kind.INTEGER, "Largest number of requests in flight."),
    Column("sent", Kind.INTEGER, "Requests sent in it."),
    Column("completed", Kind.INTEGER, "Requests that ended well in it."),
    Column("failed", Kind.INTEGER, "Requests that failed in it."),
    Column("output_tokens", Kind.INTEGER, "Tokens that arrived in it."),
)
_TIMES: Final = {
    "response_ttft": "TTFT, counted from `due_ns`, of requests whose first token came in it",
    "itl": "Time between tokens that arrived in it",
    "tpot": "TPOT of requests that ended in it",
}
_PERCENTILES: Final = (50.0, 95.0, 99.0)


def columns() -> tuple[Column, ...]:
    """See ``harness.export``."""
    return (
        Column("start_s", Kind.NUMBER, "Its beginning, after the start of the run."),
        Column("length_s", Kind.NUMBER, "Its length."),
        *_COUNTS,
        *(
            Column(f"{name}_p{p:g}_ns", Kind.NUMBER, f"{meaning}: p{p:g}, missing without a sample.")
            for name, meaning in _TIMES.items()
            for p in _PERCENTILES
        ),
    )


def rows(run: ExportedRun) -> Iterator[Row]:
    """See ``harness.export``.

    Raises:
        TableError: The run has no result yet.
    """
    try:
        points = run.result().timeline
    except DocumentError as error:
        raise TableError(f"{error}; make it with: tokenpace report {run.folder.path}") from error
    for point in points:
        counts = (getattr(point, column.name) for column in _COUNTS)
        times = (value for each in (point.ttft, point.itl, point.tpot) for value in _values(each))
        yield (point.start_s, point.length_s, *counts, *times)


def _values(percentiles: tuple[Percentile, ...]) -> Iterator[float | None]:
    found = {each.p: each.value for each in percentiles}
    return (found.get(p) for p in _PERCENTILES)
