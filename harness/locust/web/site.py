"""The routes at ``tokenpace/``, below Locust's base path and behind its login where it has one."""

from __future__ import annotations

import csv
import io
import logging
from typing import TYPE_CHECKING, Final

import msgspec
from flask import Blueprint, Response, send_file
from flask_cors import cross_origin

from harness.locust.web.document import FILES
from harness.locust.web.resetting import guard_reset
from harness.locust.web.tabs import add_tabs
from reports import view
from reports.formats.html.page import own_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from locust.web import WebUI

    from harness.locust.web.board import Board
    from reports.result import Result

NAME: Final = "tokenpace"
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_REPORT: Final = "reports.formats.html"
_logger = logging.getLogger(__name__)


def open_site(web_ui: WebUI, board: Board) -> None:
    """Add page, tables and links to Locust's web UI, before its first request.

    Args:
        web_ui: Locust's.
        board: What is shown.
    """
    app = web_ui.app
    assert app is not None
    base = app.blueprints["locust"].url_prefix or ""
    site = Blueprint(NAME, __name__, url_prefix=f"{base}/{NAME}")
    for path, respond in _responses(board).items():
        guarded = web_ui.auth_required_if_enabled(respond)
        site.add_url_rule(path, respond.__name__, cross_origin(origins=[])(guarded), methods=["GET"])
    site.after_request(_close)
    app.register_blueprint(site)
    add_tabs(web_ui, board)
    guard_reset(web_ui, board)
    _logger.info("Live charts, verdicts and the report are at %s/%s/ of the web interface", base, NAME)


def _responses(board: Board) -> dict[str, Callable[..., Response]]:
    def page() -> Response:
        return _own("page.html", "text/html")

    def style() -> Response:
        text = own_file(_REPORT, "style.css") + own_file(__package__, "page.css")
        return Response(text, mimetype="text/css")

    def script() -> Response:
        text = own_file(_REPORT, "steering.js") + own_file(__package__, "page.js")
        return Response(text, mimetype="text/javascript")

    def live() -> Response:
        return Response(msgspec.json.encode(board.document()), mimetype="application/json")

    def figures() -> Response:
        return _attached(_csv(board.result()), "metrics.csv")

    def file(name: str) -> Response:
        path = None if board.folder is None or name not in FILES else (board.folder / name).resolve()
        if path is None or not path.is_file():
            return Response("there is no such file of a run that is over", 404, mimetype="text/plain")
        return send_file(
            path, as_attachment=True, download_name=f"{path.parent.name}-{name}", max_age=0, etag=False
        )

    return {
        "/": page,
        "/page.css": style,
        "/page.js": script,
        "/live.json": live,
        "/metrics.csv": figures,
        "/files/<name>": file,
    }


def _own(name: str, mimetype: str) -> Response:
    return Response(own_file(__package__, name), mimetype=mimetype)


def _attached(text: str, name: str) -> Response:
    return Response(
        text, mimetype="text/csv", headers={"Content-Disposition": f"attachment; filename={name}"}
    )


def _csv(result: Result | None) -> str:
    """The tables of metrics and rates; their heads alone where there is no result."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    shown = () if result is None else view.columns(result)
    writer.writerow(("metric", "basis", "unit", "n", *(f"p{p:g}" for p in shown), "max", "mean", "reason"))
    if result is None:
        return file.getvalue()
    for metric in result.metrics:
        values = [None if (cell := metric.percentile(p)) is None else cell.value for p in shown]
        row = (metric.name, metric.basis, metric.unit, metric.n, *values, metric.maximum, metric.mean)
        writer.writerow((*row, metric.reason))
    for rate in result.rates:
        row = (rate.name, None, rate.unit, None, *([None] * len(shown)), None, rate.value)
        writer.writerow((*row, rate.reason))
    return file.getvalue()


def _close(response: Response) -> Response:
    """Let no other script run, and no other site read or keep what is here."""
    response.headers["Content-Security-Policy"] = _POLICY
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers["Cache-Control"] = "no-store"
    return response
