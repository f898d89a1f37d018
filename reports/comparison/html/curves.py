"""Both percentile curves of each metric over each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reports import view
from reports.curves import NAMED
from reports.formats.html.chart import Chart, Mark, Point, Series, line
from reports.formats.html.percentile_chart import far_end, nines, place_of, read_at, x_ticks
from reports.formats.html.scales import Linear, around
from reports.units import quantity, scale_of

if TYPE_CHECKING:
    from reports.comparison.document import Comparison, Side
    from reports.formats.html.scales import Scale
    from reports.result import Curve

_ORDER: Final = ("ttft", "tpot", "itl", "e2e")


def curve_charts(comparison: Comparison) -> list[Chart]:
    """A chart of each metric that both sides have."""
    a, b = _by_name(comparison.a), _by_name(comparison.b)
    charts = (_chart(name, a[name], b[name]) for name in _ORDER if name in a and name in b)
    return [chart for chart in charts if chart is not None]


def curve_table(comparison: Comparison) -> list[tuple[str, ...]]:
    """The numbers behind the charts: metric, percentile, A, B."""
    a, b = _by_name(comparison.a), _by_name(comparison.b)
    return [
        (f"{name} p{p:g}", *(quantity(dict(side[name].points).get(p), "ns") for side in (a, b)))
        for name in _ORDER
        if name in a and name in b
        for p in NAMED
        if any(p in dict(side[name].points) for side in (a, b))
    ]


def _by_name(side: Side) -> dict[str, Curve]:
    return {curve.name: curve for curve in side.curves if curve.points}


def _chart(name: str, a: Curve, b: Curve) -> Chart | None:
    values = [value for curve in (a, b) for _, value in curve.points if value > 0]
    if not values:
        return None
    x = Linear(0.0, max(far_end(curve) for curve in (a, b)))
    y = around(min(values), max(values))
    unit = scale_of("ns", min(values))
    return Chart(
        name=name,
        title=view.title(name),
        summary=f"{view.title(name)} by percentile. A: {_summary(a)}. B: {_summary(b)}.",
        y_title=unit.label,
        x_title="percentile, the tail stretched",
        x_ticks=x_ticks(x),
        y_ticks=y.ticks(unit.divisor),
        marks=(_mark(a, "s1", "line", x, y), _mark(b, "s2", "line", x, y)),
        series=(_series("A", a, "s1", y), _series("B", b, "s2", y)),
        xs=tuple(x.at(nines(p)) for p in read_at(x)),
        x_texts=tuple(f"p{p:g}" for p in read_at(x)),
    )


def _mark(curve: Curve, colour: str, kind: str, x: Scale, y: Scale) -> Mark:
    points: list[Point | None] = [(x.at(place_of(curve, p)), y.at(value)) for p, value in curve.points]
    return Mark(kind, colour, line(points))


def _series(label: str, curve: Curve, colour: str, y: Scale) -> Series:
    points = dict(curve.points)
    read = [points.get(p) for p in NAMED]
    ys = tuple(None if value is None else y.at(value) for value in read)
    return Series(label, colour, "line", ys, tuple(quantity(value, "ns") for value in read))


def _summary(curve: Curve) -> str:
    points = dict(curve.points)
    return ", ".join(f"p{p:g} {quantity(points[p], 'ns', 3)}" for p in (50.0, 95.0, 99.0) if p in points)
