"""A search on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from reports.capacity import words
from reports.terminal import STYLES, VERDICT_INK, plain_table
from reports.text import one_line
from reports.units import duration

if TYPE_CHECKING:
    from rich.console import Console

    from reports.capacity.search import Capacity, Probe

_NARROW = 100


def show(capacity: Capacity, console: Console) -> None:
    """Print the answer and the probes."""
    console.print(renderable(capacity, console.width))


def renderable(capacity: Capacity, width: int = 110) -> RenderableType:
    """The answer and the probes for a terminal of that width."""
    word = capacity.word
    about = (
        f"{capacity.scenario_name} · {capacity.model} · {capacity.base_url} · {capacity.key} varied · "
        f"{len(capacity.probes)} probes in {duration(capacity.duration_s)}"
    )
    return Group(
        Text.assemble((f" {word} ", STYLES[word]), "  ", (one_line(capacity.sentence), "bold")),
        Text(one_line(about), style="dim"),
        Text(),
        _table(capacity, width),
        *(Text.assemble((" note   ", "dim"), one_line(note)) for note in capacity.notes),
    )


def probe_text(probe: Probe, unit: str) -> Text:
    """One probe on a line, as it ends."""
    line = words.probe_line(probe)
    reason = "" if probe.verdict.value == "PASS" else f"  {one_line(probe.reason)}"
    head = f" {probe.number:3}  {words.load_words(probe.load, unit):>16}  "
    return Text.assemble(head, (f"{line.verdict:<12}", VERDICT_INK[line.verdict]), (reason, "dim"))


def _table(capacity: Capacity, width: int) -> RenderableType:
    numbers = words.COLUMNS if width >= _NARROW else words.COLUMNS[:4]
    table = plain_table("Probes", "#", "verdict", numbers=numbers)
    table.columns[1].no_wrap = True
    for line in words.probe_lines(capacity):
        verdict = Text(line.verdict, style=VERDICT_INK[line.verdict])
        table.add_row(line.number, verdict, *line.cells[: len(numbers)])
    return table
