"""Each request as a dot; those that failed as strokes on the axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports import view
from reports.formats.html.chart import Chart, Mark, Series, dots, rug
from reports.formats.html.scales import around, from_zero
from reports.formats.html.time_charts import Frame, frame_of
from reports.units import quantity, scale_of

if TYPE_CHECKING:
    from reports.formats.html.scales import Scale
    from reports.result import RequestRow, Result

_LOG_FROM_RATIO = 30.0
_COLUMNS = {"ttft": 5, "e2e": 7}  # in the table of requests
_GOOD = ("ok", "ok_empty")


def scatter_charts(result: Result) -> list[Chart]:
    """TTFT and end-to-end time of each request, for which there is at least one request."""
    frame = frame_of(result)
    charts = (_scatter(result, frame, "ttft"), _scatter(result, frame, "e2e"))
    return [chart for chart in charts if chart is not None]


def failed(row: RequestRow) -> bool:
    """True for an outcome that is an error."""
    return row.outcome not in (*_GOOD, "cut")


def _scatter(result: Result, frame: Frame, name: str) -> Chart | None:
    rows = [row for row in result.requests if getattr(row, name) and not failed(row)]
    bad = [row for row in result.requests if failed(row)]
    if not rows and not bad:
        return None
    values = [float(getattr(row, name)) for row in rows] or [1e6]
    y: Scale = from_zero(max(values))
    if max(values) > _LOG_FROM_RATIO * min(values):
        y = around(min(values), max(values))
    unit = scale_of("ns", max(values))
    points = [(frame.x.at(row.start_s), y.at(getattr(row, name))) for row in rows]
    good = Mark("dots", "s1", dots(points))
    wrong = (Mark("rug", "bad", rug(frame.x.at(row.start_s) for row in bad)),) if bad else ()
    return Chart(
        name=f"{name}-scatter",
        title=f"{view.title(name)} of each request",
        summary=f"{len(rows):,} requests between {quantity(min(values), 'ns', 3)} and "
        f"{quantity(max(values), 'ns', 3)}; {len(bad):,} failed.",
        y_title=unit.label,
        x_title="seconds since start, when sent",
        x_ticks=frame.x.ticks(),
        y_ticks=y.ticks(unit.divisor),
        marks=(good, *wrong),
        series=(
            Series("answered", "s1", "dots"),
            *((Series(f"failed ({len(bad):,})", "bad", "rug"),) if bad else ()),
        ),
        shades=frame.shades,
        column=_COLUMNS[name],
    )
