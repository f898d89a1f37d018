"""The result as one HTML file: verdict first, every number in a table, charts drawn on the server side.

It needs no network and can be read without JavaScript, which adds read-outs, sorting and filtering.
A content security policy allows that one script by its digest and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from reports import headline, server_view, turns_view, view
from reports.formats.html import tables
from reports.formats.html.page import page
from reports.formats.html.percentile_chart import percentile_chart
from reports.formats.html.scatter_charts import scatter_charts
from reports.formats.html.server_charts import server_charts
from reports.formats.html.time_charts import time_charts
from reports.units import duration, quantity

if TYPE_CHECKING:
    from reports.formats.html.chart import Chart
    from reports.result import Result

FILE_NAME = "report.html"


def render(result: Result) -> str:
    """The whole page."""
    charts = {
        "percentile_chart": percentile_chart(result),
        "time_charts": time_charts(result),
        "scatter_charts": scatter_charts(result),
        "server_charts": server_charts(result),
    }
    return page(
        __package__,
        "report.html.j2",
        result,
        _all(charts),
        **_words(result),
        **charts,
        **_tables(result),
    )


def _all(charts: dict[str, Any]) -> list[Chart]:
    first = charts["percentile_chart"]
    return [
        *([first] if first else []),
        *charts["time_charts"],
        *charts["scatter_charts"],
        *charts["server_charts"],
    ]


def _words(result: Result) -> dict[str, Any]:
    loop = headline.loop(result)
    return {
        "status": headline.status(result),
        "sentence": headline.sentence(result),
        "causes": [cause for cause in result.causes if cause != headline.sentence(result)],
        "facts": _facts(result),
        "basis": loop[0].upper() + loop[1:],
        "confidence": quantity(result.rules[0].confidence if result.rules else 0.95, "share"),
        "scenario": yaml.safe_dump(_plain(result.scenario), sort_keys=False, allow_unicode=True, width=90),
    }


def _facts(result: Result) -> list[tuple[str, str]]:
    return [
        ("scenario", result.scenario_name),
        ("model", result.model),
        ("server", result.base_url),
        ("endpoint", result.endpoint),
        ("load", f"{result.num_requests:,} requests in {duration(result.duration_s)}, {result.loop} loop"),
        ("measured", headline.window(result).removeprefix("measured window ")),
        ("seed", str(result.seed)),
        ("token counts", result.token_source),
        ("started", result.started_at),
    ]


def _tables(result: Result) -> dict[str, Any]:
    shown = view.columns(result)
    return {
        "rules": [(view.rule_line(rule), tables.bullet(rule)) for rule in result.rules],
        "tiles": list(tables.tiles(result)),
        "columns": [f"{p:g}" for p in shown],
        "metrics": view.metric_lines(result, shown),
        "rates": view.rate_lines(result),
        "errors": [
            (view.error_label(error), f"{error.count:,}", view.error_sample(error)) for error in result.errors
        ],
        "turns_title": turns_view.title(result.conversations),
        "turn_columns": (*turns_view.COUNTS, *turns_view.TIMES),
        "turns": list(turns_view.lines(result.conversations)),
        "timeline": tables.slices(result),
        "percentiles": tables.percentiles(result),
        "requests": list(tables.request_rows(result)),
        "samples": result.samples,
        "health": list(tables.health(result)),
        "server_figures": list(server_view.figures(result.server)) if result.server else [],
        "server_checks": [server_view.check_line(check) for check in result.server.checks]
        if result.server
        else [],
        "environment": list(tables.flat(result.environment)),
    }


def _plain(value: Any) -> Any:  # noqa: ANN401 (any JSON)
    """Only what YAML can write: tuples as lists, unknown things as text."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if value is None or type(value) in (str, int, float, bool) else str(value)
