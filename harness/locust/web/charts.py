"""The report's charts as values: the page's script draws what the report's template does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.locust.web.server_tokens import server_tokens
from reports.formats.html.page import LEGEND_SAMPLES
from reports.formats.html.server_charts import server_charts
from reports.formats.html.time_charts import time_charts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reports.formats.html.chart import Chart
    from reports.formats.html.scales import Tick
    from reports.result import Result

_OF_ALL_REQUESTS = "in-flight-time"


def charts(result: Result, *, is_over: bool) -> list[dict[str, Any]]:
    """All over time for which there is something to draw.

    Args:
        result: The run.
        is_over: False leaves out what only the whole run can tell: how many were in flight.
    """
    drawn = [chart for chart in time_charts(result) if is_over or chart.name != _OF_ALL_REQUESTS]
    drawn += server_charts(result)
    tokens = server_tokens(result)
    return [as_value(chart) for chart in (*drawn, *([tokens] if tokens else []))]


def as_value(chart: Chart) -> dict[str, Any]:
    """A chart as strict JSON."""
    return {
        "name": chart.name,
        "title": chart.title,
        "summary": chart.summary,
        "y_title": chart.y_title,
        "x_title": chart.x_title,
        "x_ticks": _ticks(chart.x_ticks),
        "y_ticks": _ticks(chart.y_ticks),
        "shades": chart.shades,
        "marks": [(mark.kind, mark.colour, mark.path) for mark in chart.marks if mark.path],
        "legend": [
            (series.label, series.colour, series.shape, LEGEND_SAMPLES[series.shape])
            for series in chart.series
            if series.label
        ],
        **chart.read_out(),
    }


def _ticks(ticks: Sequence[Tick]) -> list[tuple[float, str]]:
    return [(round(tick.at, 4), tick.label) for tick in ticks]
