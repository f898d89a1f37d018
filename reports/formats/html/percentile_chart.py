"""All latencies against the percentile, tail stretched: 50, 90, 99, 99.9 % stand equally far apart."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from reports import view
from reports.curves import NAMED
from reports.formats.html.chart import Chart, Mark, Point, Series, line
from reports.formats.html.scales import Linear, Tick, around
from reports.result import Curve
from reports.units import quantity, scale_of

if TYPE_CHECKING:
    from reports.formats.html.scales import Scale
    from reports.result import Result, RuleResult

_SHOWN = ("ttft", "e2e", "tpot", "itl")
_P_OF_RULE = re.compile(r"\bp(\d+(?:\.\d+)?)\b")


def percentile_chart(result: Result) -> Chart | None:
    """The chart, None where no curve has two different points to draw."""
    curves = [
        c for name in _SHOWN for c in curves_of(result) if c.name == name and c.unit == "ns" and c.points
    ]
    values = [value for curve in curves for _, value in curve.points if value > 0]
    if not values:
        return None
    limits = [rule.limit for _, _, rule in _judged(result)]
    x = Linear(0.0, max(far_end(curve) for curve in curves))
    y = around(min(values), max([*values, *(limit for limit in limits if limit < 3 * max(values))]))
    unit = scale_of("ns", min(values))
    series = tuple(_series(curve, y) for curve in curves)
    return Chart(
        name="percentiles",
        title="Latency by percentile",
        summary=_summary(curves),
        y_title=unit.label,
        x_title="percentile, the tail stretched",
        x_ticks=x_ticks(x),
        y_ticks=y.ticks(unit.divisor),
        marks=(*(_mark(curve, x, y) for curve in curves), *_limits(result, x, y)),
        series=(*series, *_limit_legend(result)),
        xs=tuple(x.at(nines(p)) for p in read_at(x)),
        x_texts=tuple(f"p{p:g}" for p in read_at(x)),
    )


def curves_of(result: Result) -> tuple[Curve, ...]:
    """The result's curves, or the few percentiles of its metrics where it has none."""
    return result.curves or tuple(
        Curve(
            name=m.name,
            basis=m.basis,
            unit=m.unit,
            n=m.n,
            points=(*((each.p, each.value) for each in m.percentiles if each.p < 100), (100.0, m.maximum)),
        )
        for m in result.metrics
        if m.maximum is not None
    )


def nines(p: float) -> float:
    """Where a percentile is drawn: 1 for p90, 2 for p99."""
    return -math.log10(1 - p / 100)


def far_end(curve: Curve) -> float:
    """Where p100 is drawn: half the distance of the last sample but one."""
    return math.log10(2 * curve.n)


def place_of(curve: Curve, p: float) -> float:
    """The same of a percentile of that curve."""
    return far_end(curve) if p >= 100 else min(nines(p), far_end(curve))


def _mark(curve: Curve, x: Scale, y: Scale) -> Mark:
    points: list[Point | None] = [(x.at(place_of(curve, p)), y.at(value)) for p, value in curve.points]
    return Mark("dash" if curve.basis == "service" else "line", _colour(curve), line(points))


def _colour(curve: Curve) -> str:
    return f"s{_SHOWN.index(curve.name) + 1}"


def label(curve: Curve) -> str:
    """Name and basis."""
    return f"{curve.name.upper()} {curve.basis or ''}".strip()


def read_at(x: Linear) -> tuple[float, ...]:
    """The percentiles that are read out."""
    return tuple(p for p in NAMED if nines(p) <= x.high)


def _series(curve: Curve, y: Scale) -> Series:
    points = dict(curve.points)
    read = [points.get(p) for p in NAMED]
    ys = tuple(None if value is None else y.at(value) for value in read)
    shape = "dash" if curve.basis == "service" else "line"
    return Series(label(curve), _colour(curve), shape, ys, tuple(quantity(value, "ns") for value in read))


def x_ticks(x: Linear) -> tuple[Tick, ...]:
    """Those of the horizontal axis."""
    marked = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999)
    return tuple(Tick(x.at(nines(p)), f"{p:g} %") for p in marked if nines(p) <= x.high)


def _limits(result: Result, x: Linear, y: Scale) -> tuple[Mark, ...]:
    """A bar at each limit, and its reach to the value that was observed."""
    marks = []
    far = {curve.name: far_end(curve) for curve in curves_of(result) if curve.points}
    for name, p, rule in _judged(result):
        place, limit = x.at(min(nines(p), far.get(name, x.high))), y.at(rule.limit)
        colour = f"s{_SHOWN.index(name) + 1}"
        marks.append(Mark("targets", colour, line([(place - 0.01, limit), (place + 0.01, limit)])))
        if rule.observed is not None:
            marks.append(Mark("reach", colour, line([(place, limit), (place, y.at(rule.observed))])))
    return tuple(marks)


def _judged(result: Result) -> list[tuple[str, float, RuleResult]]:
    """Rules on a percentile of what is drawn: metric, p, rule."""
    found = [(rule, _P_OF_RULE.search(rule.rule)) for rule in result.rules if rule.metric in _SHOWN]
    return [
        (rule.metric, float(match[1]), rule)
        for rule, match in found
        if match and rule.unit == "ns" and 0 < float(match[1]) < 100
    ]


def _limit_legend(result: Result) -> tuple[Series, ...]:
    return (Series("limit of an objective", "limit", "targets"),) if _judged(result) else ()


def _summary(curves: list[Curve]) -> str:
    parts = []
    for curve in curves:
        points = dict(curve.points)
        ends = [f"p{p:g} {quantity(points[p], 'ns', 3)}" for p in (50.0, 99.0, 100.0) if p in points]
        parts.append(
            f"{view.title(curve.name)}{f' ({curve.basis})' if curve.basis else ''}: {', '.join(ends)}"
        )
    return "; ".join(parts) + "."
