"""The server over time, by its own account: requests in it, and the use of its KV cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.formats.html.chart import Chart, Mark, Series, band, line
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

_COLOURS = {"running": "s4", "waiting": "s2", "kv_usage": "s3"}
_LABELS = {"running": "running", "waiting": "waiting", "kv_usage": ""}


def server_charts(result: Result) -> list[Chart]:
    """Those for which the server has figures."""
    if result.server is None or not result.server.points:
        return []
    frame = _frame(result, result.server.points)
    points = result.server.points
    charts = (
        _chart(
            points, frame, "server-requests", "Requests in the server", "requests", ("running", "waiting")
        ),
        _chart(points, frame, "server-kv", "KV cache in use", "share", ("kv_usage",)),
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
    fields: tuple[str, ...],
) -> Chart | None:
    peaks = {field: value for field in fields if (value := peak(points, field)) is not None}
    if not peaks:
        return None
    y = from_zero(max(peaks.values()))
    most = ", ".join(f"{_LABELS[field]} {quantity(value, unit, 3)}".strip() for field, value in peaks.items())
    return Chart(
        name=name,
        title=title,
        summary=f"{title} by the server's own account; at most {most}.",
        y_title=scale_of(unit, None).label,
        x_title="seconds since start",
        x_ticks=frame.x.ticks(),
        y_ticks=y.ticks(scale_of(unit, None).divisor),
        marks=tuple(mark for field in peaks for mark in _marks(points, frame, y, field)),
        series=tuple(_series(points, y, unit, field) for field in peaks),
        xs=frame.middles,
        x_texts=frame.heads,
        shades=frame.shades,
    )


def _marks(points: tuple[ServerPoint, ...], frame: Frame, y: Linear, field: str) -> tuple[Mark, Mark]:
    places: list[Point | None] = [
        None if (value := getattr(point, field)) is None else (at, y.at(value))
        for at, point in zip(frame.middles, points, strict=True)
    ]
    floor: list[Point | None] = [(at, 0.0) for at in frame.middles]
    colour = _COLOURS[field]
    return Mark("area", colour, band(floor, places)), Mark("line", colour, line(places))


def _series(points: tuple[ServerPoint, ...], y: Linear, unit: str, field: str) -> Series:
    values = [getattr(point, field) for point in points]
    ys = tuple(None if value is None else y.at(value) for value in values)
    texts = tuple(quantity(value, unit, 3) for value in values)
    return Series(_LABELS[field], _COLOURS[field], "line", ys, texts)
