"""Latency and throughput of a sweep against its first key that is made of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reports.formats.html.chart import Chart, Mark, Series, dots, line
from reports.formats.html.scales import Linear, around, from_zero
from reports.units import quantity, scale_of, significant

if TYPE_CHECKING:
    from collections.abc import Callable

    from reports.formats.html.scales import Scale
    from reports.sweep.table import Axis, Point, Sweep

_COLOURS: Final = ("s1", "s2", "s3", "s4")
_LOG_FROM_RATIO: Final = 8.0


def charts(sweep: Sweep) -> list[Chart]:
    """None where no key is made of numbers, or fewer than two points were run."""
    axis = next((each for each in sweep.axes if all(map(_is_number, each.values))), None)
    if axis is None or len(sweep.points) < 2:
        return []
    return [
        chart
        for chart in (
            _chart(sweep, axis, "ttft", "TTFT p95", "ns", lambda point: point.p95("ttft")),
            _chart(sweep, axis, "tpot", "TPOT p95", "ns", lambda point: point.p95("tpot")),
            _chart(sweep, axis, "e2e", "End-to-end time p95", "ns", lambda point: point.p95("e2e")),
            _chart(sweep, axis, "answered", "Answered", "requests/s", lambda point: point.achieved),
            _chart(sweep, axis, "tokens", "Output tokens", "tokens/s", lambda point: point.output_token_rate),
            _chart(sweep, axis, "attainment", "Attainment", "share", lambda point: point.attainment),
        )
        if chart is not None
    ]


def _chart(
    sweep: Sweep, axis: Axis, name: str, title: str, unit: str, get: Callable[[Point], float | None]
) -> Chart | None:
    """A line for each combination of the other keys."""
    known = [value for value in map(get, sweep.points) if value]
    if not known:
        return None
    x, scale = _horizontal(axis), scale_of(unit, max(known))
    y: Scale = Linear(0.0, 1.0) if unit == "share" else from_zero(max(known))
    if unit == "ns" and max(known) > _LOG_FROM_RATIO * min(known):
        y = around(min(known), max(known))
    values = sorted(axis.values)
    groups = _groups(sweep, axis)
    lines = [
        (label, _COLOURS[i % len(_COLOURS)], [_value(points, axis, value, get) for value in values])
        for i, (label, points) in enumerate(groups.items())
    ]
    return Chart(
        name=name,
        title=title,
        summary=f"{title} against {axis.key}, between {quantity(min(known), unit, 3)} and "
        f"{quantity(max(known), unit, 3)}.",
        y_title=scale.label,
        x_title=axis.key,
        x_ticks=x.ticks(1.0),
        y_ticks=y.ticks(scale.divisor),
        marks=tuple(mark for _, colour, column in lines for mark in _marks(values, column, x, y, colour)),
        series=tuple(
            Series(
                label or title,
                colour,
                "line",
                tuple(None if value is None else y.at(value) for value in column),
                tuple(quantity(value, unit, 3) for value in column),
            )
            for label, colour, column in lines
        ),
        xs=tuple(x.at(value) for value in values),
        x_texts=tuple(f"{axis.key} {significant(value, 4)}" for value in values),
    )


def _marks(
    values: list[float], column: list[float | None], x: Scale, y: Scale, colour: str
) -> tuple[Mark, Mark]:
    points = [
        None if value is None else (x.at(place), y.at(value))
        for place, value in zip(values, column, strict=True)
    ]
    return Mark("line", colour, line(points)), Mark("dots", colour, dots(p for p in points if p is not None))


def _horizontal(axis: Axis) -> Scale:
    low, high = min(axis.values), max(axis.values)
    if low > 0 and high >= _LOG_FROM_RATIO * low:
        return around(low, high)
    room = (high - low) / 20 or 1.0
    return Linear(low - room, high + room)


def _groups(sweep: Sweep, axis: Axis) -> dict[str, list[Point]]:
    groups: dict[str, list[Point]] = {}
    for point in sweep.points:
        others = (f"{key}={value}" for key, value in point.values.items() if key != axis.key)
        groups.setdefault(", ".join(others), []).append(point)
    return groups


def _value(
    points: list[Point], axis: Axis, value: float, get: Callable[[Point], float | None]
) -> float | None:
    return next((get(point) for point in points if point.values[axis.key] == value), None)


def _is_number(value: Any) -> bool:  # noqa: ANN401 (any plain data)
    return isinstance(value, int | float) and not isinstance(value, bool)
