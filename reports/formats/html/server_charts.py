"""The server over time, by its own account: requests in it, and the use of its KV cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.formats.html.chart import Chart, Mark, Series, line, stairs, under
from reports.formats.html.scales import from_zero
from reports.formats.html.time_charts import frame_of
from reports.server_view import peak
from reports.units import duration, quantity, scale_of

if TYPE_CHECKING:
    from reports.formats.html.chart import Point
    from reports.formats.html.scales import Linear
    from reports.formats.html.time_charts import Frame
    from reports.result import Result
    from reports.server_telemetry import ServerPoint

_REQUESTS = (("running", "s4", "line"), ("waiting", "s2", "thin"))
_KV = (("kv_usage", "s3", "line"),)
_LABELS = {"running": "running", "waiting": "waiting", "kv_usage": ""}


def server_charts(result: Result) -> list[Chart]:
    """Those for which the server has figures."""
    if result.server is None or not result.server.points:
        return []
    frame = _frame(result, result.server.points)
    points = result.server.points
    charts = (
        _chart(points, frame, "server-requests", "Requests in the server", "requests", _REQUESTS),
        _chart(points, frame, "server-kv", "KV cache in use", "share", _KV),
    )
    return [chart for chart in charts if chart is not None]


def _frame(result: Result, points: tuple[ServerPoint, ...]) -> Frame:
    """The axis of the other charts, read out where the server was looked at."""
    frame = frame_of(result)
    return frame._replace(
        middles=tuple(frame.x.at(point.at_s) for point in points),
        heads=tuple(duration(point.at_s) for point in points),
    )


def _chart(
    points: tuple[ServerPoint, ...],
    frame: Frame,
    name: str,
    title: str,
    unit: str,
    drawn: tuple[tuple[str, str, str], ...],
) -> Chart | None:
    peaks = {field: value for field, _, _ in drawn if (value := peak(points, field)) is not None}
    if not peaks:
        return None
    y = from_zero(max(peaks.values()))
    shown = [each for each in drawn if each[0] in peaks]
    most = ", ".join(f"{_LABELS[field]} {quantity(value, unit, 3)}".strip() for field, value in peaks.items())
    return Chart(
        name=name,
        title=title,
        summary=f"{title} by the server's own account; at most {most}.",
        y_title=scale_of(unit, None).label,
        x_title="seconds since start",
        x_ticks=frame.x.ticks(),
        y_ticks=y.ticks(scale_of(unit, None).divisor),
        marks=tuple(mark for each in shown for mark in _marks(points, frame, y, *each)),
        series=tuple(_series(points, y, unit, *each) for each in shown),
        xs=frame.middles,
        x_texts=frame.heads,
        shades=frame.shades,
    )


def _marks(
    points: tuple[ServerPoint, ...], frame: Frame, y: Linear, field: str, colour: str, shape: str
) -> tuple[Mark, ...]:
    places: list[Point | None] = [
        None if (value := getattr(point, field)) is None else (at, y.at(value))
        for at, point in zip(frame.middles, points, strict=True)
    ]
    whole = [place for place in places if place is not None]
    if shape != "line" or len(whole) < len(places):
        return (Mark(shape, colour, line(places)),)
    return (Mark("area", colour, under(whole)), Mark("line", colour, stairs(whole)))


def _series(
    points: tuple[ServerPoint, ...], y: Linear, unit: str, field: str, colour: str, shape: str
) -> Series:
    values = [getattr(point, field) for point in points]
    return Series(
        _LABELS[field],
        colour,
        shape,
        tuple(None if value is None else y.at(value) for value in values),
        tuple(quantity(value, unit, 3) for value in values),
    )
