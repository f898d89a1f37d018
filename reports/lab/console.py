"""An experiment on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from reports.lab import words
from reports.terminal import STYLES, VERDICT_INK, plain_table
from reports.text import one_line

if TYPE_CHECKING:
    from rich.console import Console

    from reports.lab.table import Lab


def show(lab: Lab, console: Console) -> None:
    """Print the question, what is shown, and a row for each figure."""
    console.print(renderable(lab))


def renderable(lab: Lab) -> RenderableType:
    """For a terminal of any width."""
    word = words.word(lab)
    claims = (
        Text.assemble((f"{claim.verdict} ", VERDICT_INK[claim.verdict]), one_line(claim.sentence))
        for claim in words.claim_lines(lab)
    )
    return Group(
        Text(one_line(lab.question), style="bold"),
        Text.assemble((f" {word} ", STYLES[word]), "  ", one_line(words.sentence(lab))),
        *claims,
        Text(),
        _table(lab),
        *(Text(one_line(reason), style="dim") for reason in _reasons(lab)),
    )


def _reasons(lab: Lab) -> list[str]:
    """Why changes aren't known, each once."""
    return list(dict.fromkeys(line.reason for line in words.effect_lines(lab) if line.reason))


def _table(lab: Lab) -> RenderableType:
    table = plain_table("Measured", "figure", numbers=words.COLUMNS)
    for line in words.effect_lines(lab):
        point, variant, figure, there = map(one_line, line.words)
        place = f" ({point})" if point else ""
        table.add_row(Text(f"{figure}: {variant}{place} against {there}"), *line.cells)
    return table
