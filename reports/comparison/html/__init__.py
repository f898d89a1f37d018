"""The comparison as one HTML file: verdict, figures with intervals, percentile curves over each other."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from reports.comparison import view
from reports.comparison.document import Change, Comparison, Figure
from reports.comparison.html.curves import curve_charts, curve_table
from reports.formats.html.page import page

if TYPE_CHECKING:
    from collections.abc import Iterator

_TONES: Final = {
    Change.REGRESSION: "fail",
    Change.IMPROVED: "pass",
    Change.NO_DIFFERENCE: "pass",
    Change.UNDECIDED: "inconclusive",
    Change.INVALID: "invalid",
    Change.NOT_COMPARED: "not-judged",
}
_SIGNS: Final = {
    Change.REGRESSION: "✕",
    Change.IMPROVED: "↑",
    Change.NO_DIFFERENCE: "✓",
    Change.UNDECIDED: "?",
    Change.INVALID: "⊘",
    Change.NOT_COMPARED: "-",
}


@dataclasses.dataclass(frozen=True)
class Picture:
    """An interval beside what is allowed, places in % from the left."""

    low: float
    high: float
    neutral: float
    limit: float
    change: float


@dataclasses.dataclass(frozen=True)
class Row:
    """A figure as the page shows it."""

    line: view.Line
    tone: str
    sign: str
    picture: Picture | None


def render(comparison: Comparison) -> str:
    """The whole page."""
    charts = curve_charts(comparison)
    return page(
        __package__,
        "comparison.html.j2",
        comparison,
        charts,
        word=view.word(comparison),
        tone=_TONES[comparison.verdict],
        sentence=view.sentence(comparison),
        sides=list(view.sides(comparison)),
        columns=view.COLUMNS,
        rows=list(_rows(comparison)),
        remarks=list(view.remarks(comparison)),
        figures=charts,
        curves=curve_table(comparison),
    )


def _rows(comparison: Comparison) -> Iterator[Row]:
    for figure, line in zip(comparison.figures, view.lines(comparison), strict=True):
        yield Row(line, _TONES[figure.verdict], _SIGNS[figure.verdict], _picture(figure))


def _picture(figure: Figure) -> Picture | None:
    """Drawn about no change, as far to either side as it takes, within reason."""
    if figure.low is None or figure.high is None or figure.change is None:
        return None
    neutral = 1.0 if figure.kind == "ratio" else 0.0
    allowed = abs(figure.allowed - neutral)
    values = (figure.low, figure.high, neutral, figure.allowed, figure.change)
    farthest = max(abs(value - neutral) for value in values)
    reach = 1.1 * (min(farthest, max(3 * allowed, 1.5 * abs(figure.change - neutral))) or 1.0)
    places = (round(min(100.0, max(0.0, 50 + 50 * (value - neutral) / reach)), 2) for value in values)
    return Picture(*places)
