"""The fixture ``load``: makes a run, in a sync test at once, in an async test when awaited."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, NoReturn

from harness import wire
from harness.pytest.building import build_scenario
from harness.pytest.own_thread import OwnThread
from harness.pytest.plainly import plainly, plainly_awaited
from harness.pytest.run import Run
from harness.pytest.settings import api_key, value_of
from harness.pytest.spine import spine
from harness.sla.grammar import rules_from
from harness.sla.preconditions import demand_judgeable

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from pathlib import Path

    import pytest

    from harness.comparison.objectives import RelativeRule
    from harness.comparison.side import Side
    from harness.pytest.result_places import ResultPlaces
    from harness.pytest.spine import FinishedRun
    from harness.sla.rule import Rule
    from harness.workers.crew_size import Asked
    from scenarios.scenario import Scenario

__tracebackhide__ = True


class Load:
    """Puts load on the server under test.

    Args:
        item: The test.
        endpoint: Address of the server.
        rules: The objectives of the test's marker; they are judged with those of the scenario.
        places: Where result folders go.
        baseline: What the runs are held against, None for nothing.

    Attributes:
        runs: What was run so far.
    """

    def __init__(
        self,
        item: pytest.Item,
        endpoint: str,
        rules: Sequence[Rule | RelativeRule],
        places: ResultPlaces,
        baseline: Side | None = None,
    ) -> None:
        self.runs: list[Run] = []
        self._name = item.name
        self._endpoint = endpoint
        self._rules = rules
        self._places = places
        self._baseline = baseline
        self._model = value_of(item.config, "model")
        self._is_async = inspect.iscoroutinefunction(getattr(item, "obj", None))

    @plainly
    def __call__(
        self,
        source: str | Path | Scenario | Mapping[str, Any] | None = None,
        *,
        workers: Asked = 1,
        **keys: object,
    ) -> Run | PendingRun:
        """Run a scenario, or what the keys say.

        Args:
            source: A library scenario's name, a file, a scenario or its mapping.
            workers: Processes that send the load, ``"auto"`` for one for each CPU but one; 1 is this process.
            **keys: Keys of a scenario and of its sections ``load`` and ``sampling``: ``rate=20``,
                ``duration="30s"``, ``concurrency=8``, ``requests=100``, ``max_tokens=100``,
                ``endpoint="completions"``, ``prompts="Hello"``.

        Returns:
            The run; in an async test something to be awaited for it.

        Raises:
            ScenarioError: The scenario or an objective is wrong. Nothing was sent.
            WorkersError: So many workers can't be had. Nothing was sent.
        """
        scenario = build_scenario(source, keys, self._rules, self._name)
        demand_judgeable(
            rules_from(scenario.thresholds),
            loop=scenario.outline().loop,
            streaming=wire.endpoint(scenario.endpoint).streaming,
            deadlines=scenario.token_deadlines is not None,
        )
        pending = PendingRun(self, scenario, self._places.next(), workers)
        return pending if self._is_async else pending.wait()

    def thread(self, scenario: Scenario, folder: Path, workers: Asked) -> OwnThread[FinishedRun]:
        """A thread that will run the scenario."""
        run = spine()
        return OwnThread(
            lambda: run(
                scenario,
                base_url=self._endpoint,
                api_key=api_key(),
                model=self._model or scenario.model,
                result_dir=folder,
                workers=workers,
                baseline=self._baseline,
            )
        )


class PendingRun:
    """A run that begins when it is awaited."""

    def __init__(self, load: Load, scenario: Scenario, folder: Path, workers: Asked) -> None:
        self._load = load
        self._workers = workers
        self._scenario = scenario
        self._folder = folder

    def wait(self) -> Run:
        """Run it and wait."""
        return self._finish(self._thread().wait())

    def __await__(self) -> Generator[Any, None, Run]:
        return self._waited().__await__()

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"no '{name}' yet: in an async test write run = await load(...)")

    @plainly_awaited
    async def _waited(self) -> Run:
        return self._finish(await self._thread().waited())

    def _thread(self) -> OwnThread[FinishedRun]:
        return self._load.thread(self._scenario, self._folder, self._workers)

    def _finish(self, finished: FinishedRun) -> Run:
        run = Run(finished, self._scenario, self._folder)
        self._load.runs.append(run)
        return run
