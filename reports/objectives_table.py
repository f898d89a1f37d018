"""The objectives of a result as a table for a terminal of any width: no verdict, rule or number is cut.

Where it gets narrow what a reader misses least goes first: the interval onto a line of its own below the
rule, the limit away, since it stands in the rule; then the other numbers below the rule, one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rich.cells import cell_len
from rich.text import Text

from reports import view
from reports.terminal import VERDICT_INK, plain_table
from reports.text import one_line
from reports.units import MISSING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from reports.result import RuleResult
    from reports.view import RuleLine

_ENOUGH: Final = 30
_BETWEEN: Final = 3
"""Columns of space between two cells, those at the edges taken together."""


class _Layout(NamedTuple):
    """Which columns of numbers there are, and which of them stand below the rule."""

    columns: tuple[str, ...]
    below: tuple[str, ...] = ()
    has_shares: bool = True

    def cell(self, line: RuleLine, name: str) -> str:
        """Empty where there is no such number; the margin without its share where that has no room."""
        text = str(getattr(line, name))
        return text if self.has_shares or name != "margin" else text.partition(" (")[0]

    def below_rule(self, line: RuleLine) -> str:
        """``n 58, interval 98 % to 99.9 %``."""
        cells = ((name, self.cell(line, name)) for name in self.below)
        return ", ".join(f"{name} {text}" for name, text in cells if text != MISSING)


_LAYOUTS: Final = (
    _Layout(("observed", "limit", "margin", "n", "interval")),
    _Layout(("observed", "limit", "margin", "n"), ("interval",)),
    _Layout(("observed", "margin", "n"), ("interval",)),
    _Layout(("observed", "margin", "n"), ("interval",), has_shares=False),
    _Layout(("observed", "margin"), ("n", "interval"), has_shares=False),
    _Layout(("observed",), ("margin", "n", "interval")),
    _Layout((), ("observed", "margin", "n", "interval")),
)


def objectives_table(rules: Sequence[RuleResult], width: int) -> Table:
    """A row for each rule, for a terminal of that width."""
    lines = [view.rule_line(rule) for rule in rules]
    layout = next((each for each in _LAYOUTS if _fits(each, lines, width)), _LAYOUTS[-1])
    table = plain_table("Objectives", "verdict", "rule", numbers=layout.columns)
    table.columns[0].no_wrap = True
    for line in lines:
        word = Text(line.verdict, style=VERDICT_INK[line.verdict])
        cells = (Text(layout.cell(line, name)) for name in layout.columns)
        table.add_row(word, _rule(line, layout), *cells)
    return table


def _rule(line: RuleLine, layout: _Layout) -> Text:
    below = layout.below_rule(line)
    return Text.assemble(one_line(line.rule), *(("\n", (below, "dim")) if below else ()))


def _fits(layout: _Layout, lines: Sequence[RuleLine], width: int) -> bool:
    """Whether enough is left for the rules: a few lines for each, and no word on two."""
    columns = [("verdict", *(line.verdict for line in lines))]
    columns += [(name, *(layout.cell(line, name) for line in lines)) for name in layout.columns]
    taken = sum(max(map(cell_len, column)) + _BETWEEN for column in columns) + _BETWEEN - 1
    return width - taken >= max(_needed(line, layout) for line in lines)


def _needed(line: RuleLine, layout: _Layout) -> int:
    texts = (one_line(line.rule), layout.below_rule(line))
    enough = min(max(map(cell_len, texts)), _ENOUGH)
    return max(enough, *(cell_len(word) for text in texts for word in text.split()))
