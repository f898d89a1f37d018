"""What all that is shown on a terminal has in common: the colours of verdicts, and tables."""

from __future__ import annotations

from rich import box
from rich.table import Table

STYLES = {
    "PASS": "bold white on green4",
    "FAIL": "bold white on red3",
    "INCONCLUSIVE": "bold black on dark_orange",
    "INVALID": "bold white on dark_magenta",
    "INTERRUPTED": "bold black on dark_orange",
    "NOT JUDGED": "bold reverse",
}
VERDICT_INK = {"PASS": "green", "FAIL": "bold red", "INCONCLUSIVE": "dark_orange", "INVALID": "bold magenta"}


def plain_table(title: str, *words: str, numbers: tuple[str, ...]) -> Table:
    """A table of the house: words to the left, numbers to the right."""
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        header_style="dim",
        pad_edge=True,
        padding=(0, 1),
    )
    for name in words:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table
