"""A sweep on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from reports.sweep import words
from reports.terminal import STYLES, VERDICT_INK, plain_table
from reports.text import one_line

if TYPE_CHECKING:
    from rich.console import Console

    from reports.sweep.table import Sweep

_ROOM_PER_COLUMN = 12
_FIRST = 3


def show(sweep: Sweep, console: Console) -> None:
    """Print the head and a row for each point."""
    console.print(renderable(sweep, console.width))


def renderable(sweep: Sweep, width: int = 110) -> RenderableType:
    """For a terminal of that width."""
    word = words.word(sweep)
    return Group(
        Text.assemble((f" {word} ", STYLES[word]), "  ", (one_line(words.sentence(sweep)), "bold")),
        Text(one_line(f"{sweep.scenario_name} · {sweep.model} · {sweep.base_url}"), style="dim"),
        Text(),
        _table(sweep, width),
    )


def _table(sweep: Sweep, width: int) -> RenderableType:
    keys = [words.short(axis.key) for axis in sweep.axes]
    room = width // _ROOM_PER_COLUMN - len(keys) - 1
    numbers = words.COLUMNS[: max(_FIRST, room)]
    table = plain_table("Points", *keys, "verdict", numbers=numbers)
    for column in table.columns[: len(keys) + 1]:
        column.no_wrap = True
    for line in words.point_lines(sweep):
        verdict = "" if line.verdict is None else Text(line.verdict, style=VERDICT_INK[line.verdict])
        table.add_row(*(Text(one_line(value)) for value in line.values), verdict, *line.cells[: len(numbers)])
    return table
