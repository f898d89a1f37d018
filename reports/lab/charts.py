"""An experiment's runs against its first key that is made of numbers: a line for each variant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.sweep import charts as sweep_charts
from reports.sweep.table import Axis, Point, Sweep

if TYPE_CHECKING:
    from reports.formats.html.chart import Chart
    from reports.lab.table import Lab, Measured


def charts(lab: Lab) -> list[Chart]:
    """Of the first repeat of each variant. None where no key is made of numbers."""
    points: list[Point] = []
    for run in lab.runs:
        values = {"variant": run.variant} | run.values
        if all(point.values != values for point in points):
            points.append(_point(run, values))
    axes = tuple(Axis(key=key, values=tuple(values)) for key, values in _over(lab).items())
    names = Axis(key="variant", values=tuple(lab.experiment["variants"]))
    table = Sweep(
        tool_version=lab.tool_version,
        scenario_name=lab.name,
        scenario={},
        axes=(names, *axes),
        base_url="",
        model="",
        started_at=lab.ended_at,
        points=tuple(points),
    )
    return sweep_charts.charts(table)


def _over(lab: Lab) -> dict[str, list[object]]:
    found: dict[str, list[object]] = lab.experiment.get("over", {})
    return found


def _point(run: Measured, values: dict[str, object]) -> Point:
    return Point(
        values=values,
        verdict=None,
        achieved=run.achieved,
        goodput=run.goodput,
        attainment=run.attainment,
        output_token_rate=run.output_token_rate,
        latencies=run.latencies,
    )
