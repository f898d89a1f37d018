"""A search as Markdown, for a job summary or a comment on a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.capacity import words
from reports.formats.markdown import code, escaped
from reports.units import duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reports.capacity.search import Capacity


def render(capacity: Capacity) -> str:
    """The answer, the probes, what the reader must know."""
    return "\n".join([*_head(capacity), "", *_probes(capacity), *_notes(capacity)]) + "\n"


def _head(capacity: Capacity) -> Iterator[str]:
    yield f"## Capacity: {escaped(capacity.scenario_name)}: {capacity.word}"
    yield ""
    yield escaped(capacity.sentence)
    yield ""
    yield (
        f"{code(capacity.model)} at {code(capacity.base_url)}, {code(capacity.key)} varied, "
        f"{len(capacity.probes)} probes in {duration(capacity.duration_s)}. "
        f"Objectives: {escaped('; '.join(capacity.objectives))}."
    )


def _probes(capacity: Capacity) -> Iterator[str]:
    yield "| # | verdict | " + " | ".join(words.COLUMNS) + " |"
    yield "| ---: | --- |" + " ---: |" * len(words.COLUMNS)
    for line in words.probe_lines(capacity):
        yield f"| {line.number} | {line.verdict} | " + " | ".join(map(escaped, line.cells)) + " |"


def _notes(capacity: Capacity) -> Iterator[str]:
    if capacity.notes:
        yield ""
    yield from (f"- {escaped(note)}" for note in capacity.notes)
