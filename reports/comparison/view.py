"""A comparison in words: the lines that console, Markdown and HTML all show alike."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from reports.comparison.document import Change
from reports.units import MISSING, duration, fixed, quantity, scale_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reports.comparison.document import Comparison, Figure, Side

COLUMNS: Final = ("unit", "A", "B", "change", "interval", "allowed")
_MOST_DIGITS: Final = 8


@dataclasses.dataclass(frozen=True)
class Line:
    """A figure, written."""

    name: str
    verdict: str
    unit: str
    a: str
    b: str
    change: str
    interval: str
    allowed: str
    n: str
    message: str

    @property
    def cells(self) -> tuple[str, ...]:
        """Those of ``COLUMNS``."""
        return self.unit, self.a, self.b, self.change, self.interval, self.allowed


def word(comparison: Comparison) -> str:
    """The word on top."""
    return comparison.verdict.value.upper()


def sentence(comparison: Comparison) -> str:
    """What it means."""
    if comparison.causes:
        return comparison.causes[0]
    by = {each: [f.name for f in comparison.figures if f.verdict is each] for each in Change}
    total = sum(figure.verdict is not Change.NOT_COMPARED for figure in comparison.figures)
    sure = f"with {quantity(comparison.confidence, 'share')} confidence"
    named = "; ".join(_changed(comparison, comparison.verdict))
    match comparison.verdict:
        case Change.REGRESSION:
            return f"B is worse than allowed in {_of(by[Change.REGRESSION], total)}, {sure}: {named}."
        case Change.UNDECIDED:
            open_ = _of(by[Change.UNDECIDED], total)
            return f"{open_} can't be decided {sure}; none of the others is a regression."
        case Change.IMPROVED:
            return f"No regression, and {_of(by[Change.IMPROVED], total)} improved, {sure}: {named}."
        case Change.INVALID:
            names = ", ".join(by[Change.INVALID]) or "nothing"
            return f"The harness's own error is too large to judge {names}."
    return f"None of {_count(total, 'figure')} is worse by more than allowed, {sure}."


def lines(comparison: Comparison) -> list[Line]:
    """All figures, in their order."""
    return [_line(figure) for figure in comparison.figures]


def sides(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """``A`` and ``B``, each with what it is."""
    yield "A", _about(comparison.a)
    yield "B", _about(comparison.b)


def remarks(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Kind and text of what the reader must know: causes, differences, notes."""
    yield from (("cause", cause) for cause in comparison.causes)
    for each in comparison.differences:
        yield "differs", f"{each.key}: {each.a or 'not set'} in A, {each.b or 'not set'} in B"
    yield from (("note", note) for note in comparison.notes)
    yield "method", f"{comparison.method}; Holm's correction over {_count(len(comparison.figures), 'figure')}"


def _line(figure: Figure) -> Line:
    scale = scale_of(figure.unit, figure.a or figure.b)
    a, b = fixed([figure.a, figure.b], scale, [])
    change, low, high, allowed = _changes(figure)
    return Line(
        name=figure.name,
        verdict=figure.verdict.value,
        unit=scale.label,
        a=a,
        b=b,
        change=change,
        interval=MISSING if figure.low is None else f"{low} to {high}",
        allowed=allowed,
        n=f"{figure.n_a:,} / {figure.n_b:,}",
        message=figure.message,
    )


def _changes(figure: Figure) -> tuple[str, str, str, str]:
    """Change, bounds and limit, with digits enough to show on which side of the limit each lies."""
    limit = _percent(figure, figure.allowed)
    values = [None if v is None else _percent(figure, v) for v in (figure.change, figure.low, figure.high)]
    decimals = 1
    while decimals < _MOST_DIGITS and any(
        v is not None and (round(v, decimals) > limit) != (v > limit) for v in values
    ):
        decimals += 1
    unit = "%" if figure.kind == "ratio" else "pt"
    change, low, high = (MISSING if v is None else f"{v:+.{decimals}f}" for v in values)
    if values[0] is not None:
        change = f"{change} {unit}"
    return change, low, high, f"{limit:+.4g} {unit}"


def _percent(figure: Figure, change: float) -> float:
    return 100 * (change - 1 if figure.kind == "ratio" else change)


def _changed(comparison: Comparison, verdict: Change) -> Iterator[str]:
    for figure in comparison.figures:
        if figure.verdict is verdict:
            yield f"{figure.name} {_changes(figure)[0]}"


def _about(side: Side) -> str:
    first = side.runs[0]
    count = f"{len(side.runs)} runs, " if len(side.runs) > 1 else ""
    requests = sum(run.num_requests for run in side.runs)
    length = duration(sum(run.duration_s for run in side.runs))
    return (
        f"{side.label}: {first.scenario_name} on {first.model} at {first.base_url}, "
        f"{count}{requests:,} requests in {length}, {first.started_at}"
    )


def _of(names: list[str], total: int) -> str:
    return f"{len(names)} of {_count(total, 'figure')}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
