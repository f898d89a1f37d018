"""The fixture ``load_session``: a load that several tests look at is sent once in a session."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from harness.pytest.pending_run import PendingRun
from harness.pytest.plainly import plainly

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path
    from types import FrameType

    from harness.pytest.left_runs import LeftRuns
    from harness.pytest.result_places import ResultPlaces
    from harness.pytest.run import Run
    from harness.pytest.sender import Sender
    from harness.sla.rule import Rule
    from harness.workers.crew_size import Asked
    from scenarios.scenario import Scenario

__tracebackhide__ = True


class SharedLoad:
    """Puts load on the server under test, once for all who ask for the same.

    Args:
        sender: Sends it.
        places: Makes the place of a result folder from its name.
        left: What other processes of the session have sent.
        used: Told of each run that somebody asks for.
        asked: The objectives that the test that goes on will judge the run by.
    """

    def __init__(
        self,
        sender: Sender,
        places: Callable[[str], ResultPlaces],
        left: LeftRuns,
        used: Callable[[Run], None],
        asked: Callable[[], Sequence[Rule]],
    ) -> None:
        self._sender = sender
        self._places = places
        self._left = left
        self._used = used
        self._asked = asked
        self._runs: dict[str, Run] = {}
        self._pending: dict[str, PendingRun] = {}

    @plainly
    def __call__(
        self,
        source: str | Path | Scenario | Mapping[str, Any] | None = None,
        *,
        workers: Asked = 1,
        **keys: object,
    ) -> Run | PendingRun:
        """Run what the arguments say, or give the run that was made with the same ones before.

        Args:
            source: As for ``load``.
            workers: Likewise.
            **keys: Likewise.

        Returns:
            The run; in a coroutine (an async fixture or test) something to be awaited for it.

        Raises:
            ScenarioError: The scenario or an objective is wrong. Nothing was sent.
            WorkersError: So many workers can't be had. Nothing was sent.
        """
        scenario = self._sender.scenario(source, keys, (), "shared")
        key = self._sender.key(scenario, workers)
        run = self._runs.get(key) or self._left_by_another(key)
        if run is not None:
            self._used(run)
            return run
        self._sender.demand_judgeable(scenario, self._asked())
        pending = self._pending.get(key) or self._begun(key, scenario, workers)
        return pending if _is_coroutine(_caller()) else pending.wait()

    def _left_by_another(self, key: str) -> Run | None:
        left = self._left.find(key)
        if left is None:
            return None
        run = self._runs[key] = self._sender.run_of(left, left.folder.path)
        return run

    def _begun(self, key: str, scenario: Scenario, workers: Asked) -> PendingRun:
        ended = functools.partial(self._ended, key)
        place = self._places(f"shared-{scenario.name}-{key}").next()
        pending = PendingRun(self._sender, scenario, place, workers, ended, self._used)
        self._pending[key] = pending
        return pending

    def _ended(self, key: str, run: Run) -> None:
        self._runs[key] = run
        self._left.note(key, run.folder)
        self._used(run)


def _caller() -> FrameType | None:
    """Whose call of the shared load this is: ours and ``plainly``'s frames lie between."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith("harness.pytest."):
        frame = frame.f_back
    return frame


def _is_coroutine(frame: FrameType | None) -> bool:
    kinds = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
    return frame is not None and bool(frame.f_code.co_flags & kinds)
