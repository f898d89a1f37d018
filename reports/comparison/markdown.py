"""The comparison as Markdown, for a job summary or a comment on a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reports.comparison import view
from reports.comparison.document import Change
from reports.formats.markdown import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reports.comparison.document import Comparison

_SIGNS: Final = {
    Change.REGRESSION: "❌",
    Change.IMPROVED: "🟢",
    Change.NO_DIFFERENCE: "✅",
    Change.UNDECIDED: "❔",
    Change.INVALID: "⛔",
    Change.NOT_COMPARED: "▫️",
}


def render(comparison: Comparison) -> str:
    """Verdict, figures, what the reader must know."""
    return "\n".join(_lines(comparison)) + "\n"


def _lines(comparison: Comparison) -> Iterator[str]:
    title = escaped(f"{comparison.b.label} against {comparison.a.label}")
    yield f"## {_SIGNS[comparison.verdict]} {view.word(comparison)}: {title}"
    yield ""
    yield escaped(view.sentence(comparison))
    yield ""
    yield from (f"- **{side}**: {escaped(text)}" for side, text in view.sides(comparison))
    if comparison.figures:
        yield ""
        yield "| verdict | figure | " + " | ".join(view.COLUMNS) + " |"
        yield "| --- | --- |" + " ---: |" * len(view.COLUMNS)
        for figure, line in zip(comparison.figures, view.lines(comparison), strict=True):
            cells = (line.name, *line.cells)
            yield f"| {_SIGNS[figure.verdict]} {line.verdict} | " + " | ".join(map(escaped, cells)) + " |"
    yield ""
    yield "<details><summary>Details</summary>"
    yield ""
    for figure in comparison.figures:
        if figure.message:
            yield f"- **{escaped(figure.name)}**: {escaped(figure.message)}"
    yield from (f"- {kind}: {escaped(text)}" for kind, text in view.remarks(comparison))
    yield ""
    yield "</details>"
