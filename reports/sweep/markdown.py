"""A sweep as Markdown, for a job summary or a comment on a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.formats.markdown import code, escaped
from reports.sweep import words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reports.sweep.table import Sweep


def render(sweep: Sweep) -> str:
    """The head and a row for each point."""
    return "\n".join([*_head(sweep), "", *_points(sweep)]) + "\n"


def _head(sweep: Sweep) -> Iterator[str]:
    yield f"## Sweep: {escaped(sweep.scenario_name)}: {words.word(sweep)}"
    yield ""
    yield f"{escaped(words.sentence(sweep))} {code(sweep.model)} at {code(sweep.base_url)}."


def _points(sweep: Sweep) -> Iterator[str]:
    keys = [escaped(axis.key) for axis in sweep.axes]
    yield "| " + " | ".join([*keys, "verdict", *words.COLUMNS]) + " |"
    yield "|" + " ---: |" * len(keys) + " --- |" + " ---: |" * len(words.COLUMNS)
    for line in words.point_lines(sweep):
        cells = (*line.values, line.verdict or "", *line.cells)
        yield "| " + " | ".join(map(escaped, cells)) + " |"
