"""The end of a campaign before its time."""

from __future__ import annotations

from typing import NamedTuple


class Interrupted(NamedTuple):
    """Instead of a run: the campaign was told to end.

    Attributes:
        signal_name: ``SIGINT``, ``SIGTERM`` or ``SIGHUP``.
    """

    signal_name: str
