"""The comparison on a terminal."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reports.comparison import view
from reports.comparison.document import Change
from reports.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reports.comparison.document import Comparison

_STYLES: Final = {
    Change.REGRESSION: "bold white on red3",
    Change.IMPROVED: "bold white on green4",
    Change.NO_DIFFERENCE: "bold white on green4",
    Change.UNDECIDED: "bold black on dark_orange",
    Change.INVALID: "bold white on dark_magenta",
    Change.NOT_COMPARED: "bold reverse",
}
_INK: Final = {
    Change.REGRESSION: "bold red",
    Change.IMPROVED: "bold green",
    Change.NO_DIFFERENCE: "green",
    Change.UNDECIDED: "dark_orange",
    Change.INVALID: "bold magenta",
    Change.NOT_COMPARED: "dim",
}
_WIDE: Final = 100


def render(comparison: Comparison) -> str:
    """Plain text, 110 columns."""
    file = io.StringIO()
    Console(file=file, width=110, color_system=None, force_terminal=False).print(renderable(comparison, 110))
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def show(comparison: Comparison, console: Console) -> None:
    """Print it."""
    console.print(renderable(comparison, console.width))


def renderable(comparison: Comparison, width: int) -> RenderableType:
    """For a terminal of that width."""
    parts = [_head(comparison), _remarks(comparison)]
    if comparison.figures:
        parts.insert(1, _figures(comparison, width))
    return Group(*(Padding(part, (0, 0, 1, 0)) for part in parts))


def _head(comparison: Comparison) -> RenderableType:
    line = Text.assemble(
        (f" {view.word(comparison)} ", _STYLES[comparison.verdict]),
        "  ",
        (one_line(view.sentence(comparison)), "bold"),
    )
    about = (Text(one_line(f"{side}  {text}"), style="dim") for side, text in view.sides(comparison))
    return Group(line, *about)


def _figures(comparison: Comparison, width: int) -> RenderableType:
    columns = view.COLUMNS if width >= _WIDE else view.COLUMNS[:4]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, header_style="dim", padding=(0, 1))
    table.add_column("verdict", no_wrap=True)
    table.add_column("figure", no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for figure, line in zip(comparison.figures, view.lines(comparison), strict=True):
        cells = line.cells[: len(columns)]
        table.add_row(Text(line.verdict, style=_INK[figure.verdict]), line.name, *cells)
    return Group(table, *_messages(comparison))


def _messages(comparison: Comparison) -> Iterator[Text]:
    for figure in comparison.figures:
        if figure.message:
            yield Text.assemble(" ", (f"{figure.name}: ", "bold"), one_line(figure.message))


def _remarks(comparison: Comparison) -> RenderableType:
    return Group(
        *(
            Text.assemble((f" {kind:8}", "bold" if kind == "cause" else "dim"), one_line(text))
            for kind, text in view.remarks(comparison)
        )
    )
