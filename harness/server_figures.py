"""What the server says of itself that objectives can be about, looked at once a second during a run."""

from __future__ import annotations

from typing import Final, NamedTuple

from harness.metrics import Unit


class ServerFigure(NamedTuple):
    """One number of each look.

    Attributes:
        field: Of ``harness.telemetry.figures.Figures``.
        unit: Of its values.
        grows: Whether that is a counter: a value is then what it grew by since the look before.
    """

    field: str
    unit: Unit
    grows: bool = False


SERVER_FIGURES: Final = {
    "server_kv_cache_usage": ServerFigure("kv_usage", Unit.SHARE),
    "server_requests_waiting": ServerFigure("waiting", Unit.REQUESTS),
    "server_requests_running": ServerFigure("running", Unit.REQUESTS),
    "server_preemptions": ServerFigure("preemptions", Unit.REQUESTS, grows=True),
}
"""By the name that objectives have for it."""
