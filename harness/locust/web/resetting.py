"""Locust's "Reset": all tables and charts begin anew together, or none does.

A run is measured and judged whole. So while one goes on its page keeps what it has, and Locust's statistics
do the same; once it is over all of them are wiped. The result folder stays.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from flask import Response, request

if TYPE_CHECKING:
    from collections.abc import Callable

    from locust.web import WebUI

    from harness.locust.web.board import Board

_RESET: Final = "locust.reset_stats"
REFUSAL: Final = (
    "Reset was refused: the run that goes on is judged whole, so nothing of it is forgotten. Stop it first, "
    "or leave the beginning out with load.warmup."
)
_logger = logging.getLogger(__name__)


def guard_reset(web_ui: WebUI, board: Board) -> None:
    """Refuse it while a run of ours goes on, and else take part in it.

    Args:
        web_ui: Locust's.
        board: What is shown.
    """
    app = web_ui.app
    assert app is not None

    def refuse() -> Response:
        _logger.warning(REFUSAL)
        board.remark = REFUSAL
        return Response(REFUSAL, status=409, mimetype="text/plain")

    guarded: Callable[[], Response] = web_ui.auth_required_if_enabled(refuse)

    def guard() -> Response | None:
        return guarded() if request.endpoint == _RESET and board.is_following else None

    app.before_request(guard)
    web_ui.environment.events.reset_stats.add_listener(lambda **_: board.clear())
