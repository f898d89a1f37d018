"""Tabs and tables on Locust's own page, which knows such tables by ``extended_tabs`` in its template."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from flask import jsonify, request

from harness.locust.web.document import latency_rows

if TYPE_CHECKING:
    from flask import Response
    from locust.web import WebUI

    from harness.locust.web.board import Board

_STATISTICS: Final = "locust.request_stats"
_LATENCIES: Final = {"ttft": "TTFT", "itl": "ITL", "tpot": "TPOT"}
_OTHERS: Final = {"rates": "Rates and goodput", "objectives": "Objectives", "health": "Client health"}
_PERCENTILES: Final = ("basis", "unit", "n", "p50", "p90", "p95", "p99", "max", "mean")
_COLUMNS: Final = {
    "rates": ("rate", "value", "counted"),
    "objectives": ("verdict", "objective", "observed", "limit", "margin", "n", "message"),
    "health": ("figure", "value"),
}
_LINKS: Final = {
    "tokenpace/": "tokenpace: live charts, verdicts, report and journal",
    "tokenpace/metrics.csv": "Download TTFT, ITL, TPOT and all other metrics CSV (HDR precision, ns)",
}


def add_tabs(web_ui: WebUI, board: Board) -> None:
    """Add them, and have Locust's answers carry the rows.

    Args:
        web_ui: Locust's.
        board: What is shown.
    """
    app = web_ui.app
    assert app is not None
    titles = _LATENCIES | _OTHERS
    web_ui.template_args.update(
        extended_tabs=[{"key": _key(name), "title": title} for name, title in titles.items()],
        extended_tables=[{"key": _key(name), "structure": _structure(name)} for name in titles],
        extended_csv_files=[{"href": f"./{href}", "title": title} for href, title in _LINKS.items()],
    )

    def add_rows(response: Response) -> Response:
        if request.endpoint == _STATISTICS and response.is_json:
            told = {**response.get_json(), "extended_stats": _tables(board)}
            response.set_data(jsonify(told).get_data())
        return response

    app.after_request(add_rows)


def _key(name: str) -> str:
    return f"tokenpace-{name}"


def _structure(name: str) -> list[dict[str, str]]:
    keys = _PERCENTILES if name in _LATENCIES else _COLUMNS[name]
    return [{"key": key, "title": key} for key in keys]


def _tables(board: Board) -> list[dict[str, Any]]:
    document, result = board.document(), board.result()
    rows: dict[str, list[dict[str, str]]] = {
        name: [] if result is None else latency_rows(result, name) for name in _LATENCIES
    }
    rows["rates"] = [dict(zip(_COLUMNS["rates"], line, strict=True)) for line in document.get("rates", ())]
    rows["objectives"] = [{**rule, "objective": rule["rule"]} for rule in document.get("rules", ())]
    rows["health"] = [dict(zip(_COLUMNS["health"], line, strict=True)) for line in document.get("health", ())]
    return [{"key": _key(name), "data": data} for name, data in rows.items()]
