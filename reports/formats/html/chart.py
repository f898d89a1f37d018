"""A chart as the template draws it: marks in an SVG stretched to its box, all text outside of it.

The drawing is 2,000 wide and 1,000 high and is stretched to whatever the page has, with strokes that
don't scale; so the text keeps its size on a telephone, and nothing needs JavaScript.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reports.formats.html.scales import Tick

WIDTH, HEIGHT = 2_000, 1_000

Point = tuple[float, float]  # both 0..1, from the left and from the bottom


@dataclasses.dataclass(frozen=True)
class Mark:
    """Something drawn.

    Attributes:
        kind: CSS class of its shape: ``line``, ``thin``, ``dash``, ``area``, ``dots``, ``rug``, ``bars``.
        colour: CSS class of its colour: ``s1`` to ``s4``, ``bad``, ``limit``.
        path: SVG path data.
    """

    kind: str
    colour: str
    path: str


@dataclasses.dataclass(frozen=True)
class Series:
    """What the crosshair reads out, and a line of the legend.

    Attributes:
        label: In the legend; empty for none.
        colour: CSS class.
        shape: CSS class of the legend's sample: ``line``, ``dash``, ``area``, ``dots``, ``bars``.
        ys: Places from the bottom, 0..1, None where there is no value; empty for no read-out.
        texts: What is read out there.
    """

    label: str
    colour: str
    shape: str
    ys: tuple[float | None, ...] = ()
    texts: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Chart:
    """A figure.

    Attributes:
        name: Unique in the page; part of element ids.
        title: Above the figure.
        summary: One sentence that says what the figure shows, also for those who can't see it.
        y_title: Unit of the vertical axis.
        x_title: Below the horizontal axis.
        x_ticks: Of the horizontal axis.
        y_ticks: Of the vertical axis.
        marks: In drawing order.
        series: Legend and read-out.
        xs: Places of the read-out, 0..1, ascending.
        x_texts: Its headings.
        shades: Parts outside the measured window, as (from, to), 0..1.
        column: Column of the requests table that a scatter chart's dots stand for, None otherwise.
    """

    name: str
    title: str
    summary: str
    y_title: str
    x_title: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    marks: tuple[Mark, ...]
    series: tuple[Series, ...]
    xs: tuple[float, ...] = ()
    x_texts: tuple[str, ...] = ()
    shades: tuple[tuple[float, float], ...] = ()
    column: int | None = None

    def read_out(self) -> dict[str, Any]:
        """What the page's script needs to know."""
        return {
            "xs": [round(x, 4) for x in self.xs],
            "heads": self.x_texts,
            "column": self.column,
            "series": [
                {
                    "label": series.label,
                    "colour": series.colour,
                    "ys": [None if y is None else round(y, 4) for y in series.ys],
                    "texts": series.texts,
                }
                for series in self.series
                if series.ys
            ],
        }


def line(points: Sequence[Point | None]) -> str:
    """A line through points, broken where one is None; a lone point becomes a dash."""
    path, pen_down = [], False
    for i, point in enumerate(points):
        if point is None:
            pen_down = False
            continue
        alone = not pen_down and (i + 1 == len(points) or points[i + 1] is None)
        path.append(f"{'L' if pen_down else 'M'}{_xy(point)}{'m-24 0h48' if alone else ''}")
        pen_down = True
    return "".join(path)


def stairs(points: Sequence[Point]) -> str:
    """A line that keeps its height up to the next point."""
    if not points:
        return ""
    return f"M{_xy(points[0])}" + "".join(f"H{_x(x)}V{_y(y)}" for x, y in points[1:])


def band(low: Sequence[Point | None], high: Sequence[Point | None]) -> str:
    """The area between two lines; parts where either has no value are left out."""
    path: list[str] = []
    run: list[tuple[Point, Point]] = []
    for one, other in (*zip(low, high, strict=True), (None, None)):
        if one is not None and other is not None:
            run.append((one, other))
            continue
        if len(run) > 1:
            there, back = (pair[1] for pair in run), (pair[0] for pair in reversed(run))
            path.append("M" + "L".join(_xy(point) for point in (*there, *back)) + "Z")
        run = []
    return "".join(path)


def under(points: Sequence[Point]) -> str:
    """The area between stairs and the axis."""
    if not points:
        return ""
    return f"{stairs(points)}V{HEIGHT}H{_x(points[0][0])}Z"


def bars(bars_: Iterable[tuple[float, float, float]]) -> str:
    """Bars from the axis, each (left, right, height)."""
    return "".join(
        f"M{_x(left)} {HEIGHT}V{_y(height)}H{_x(right)}V{HEIGHT}Z"
        for left, right, height in bars_
        if height > 0
    )


def dots(points: Iterable[Point]) -> str:
    """A dot at each point: a line of no length with a round cap."""
    return "".join(f"M{_xy(point)}h0" for point in points)


def rug(xs: Iterable[float]) -> str:
    """Short upright strokes on the axis."""
    return "".join(f"M{_x(x)} {HEIGHT}v-60" for x in xs)


def level(y: float) -> str:
    """A line across the whole chart."""
    return f"M0 {_y(y)}H{WIDTH}"


def _x(x: float) -> int:
    return round(x * WIDTH)


def _y(y: float) -> int:
    return round((1 - y) * HEIGHT)


def _xy(point: Point) -> str:
    return f"{_x(point[0])} {_y(point[1])}"
