"""Follows a run while it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import gevent
from gevent.event import AsyncResult

from harness.locust.web.so_far import so_far
from harness.tally import Tally

if TYPE_CHECKING:
    from harness.embedding import Underway
    from harness.load_status import LoadStatus
    from harness.locust.engine import Engine
    from harness.record import Record
    from reports.result import Result

_PATIENCE_S: Final = 0.5


class Look(NamedTuple):
    """How a run stands.

    Attributes:
        result: What is known now.
        status: How its load stands, or stood when it could last be asked.
        is_silent: Whether the engine has no time to tell: it is busy, or makes the result.
    """

    result: Result
    status: LoadStatus
    is_silent: bool


class Follower:
    """Sums up, on Locust's side, the requests of a run: the engine's loop does nothing for it but say how
    its load stands.

    Args:
        engine: Makes the run.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._tally: Tally | None = None
        self._status: LoadStatus | None = None

    def take(self, record: Record) -> None:
        """Count a request that has ended."""
        tally = self._summed_up()
        if tally is not None:
            tally.add(record)

    def look(self) -> Look | None:
        """How the run stands; None before its load begins. For greenlets."""
        underway, tally = self._engine.underway, self._summed_up()
        if underway is None or tally is None:
            return None
        told = self._ask(underway)
        self._status = told or self._status
        if self._status is None:
            return None
        result = so_far(underway.manifest, tally, self._status, underway.folder.telemetry_path)
        return Look(result, self._status, told is None)

    def _summed_up(self) -> Tally | None:
        if self._tally is None and self._engine.underway is not None:
            self._tally = Tally(self._engine.underway.manifest)
        return self._tally

    def _ask(self, underway: Underway) -> LoadStatus | None:
        """How the load stands, asked on the engine's loop; None where that has ended, or takes its time."""
        told: AsyncResult = AsyncResult()
        loop = gevent.get_hub().loop
        self._engine.call(lambda: loop.run_callback_threadsafe(told.set, underway.status()))
        try:
            status: LoadStatus = told.get(timeout=_PATIENCE_S)
        except gevent.Timeout:
            return None
        return status
