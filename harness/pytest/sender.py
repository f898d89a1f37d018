"""Whom the loads of a session go to, and how one is begun."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from harness.interruption import Interruption
from harness.objectives import objectives_of
from harness.pytest.building import build_scenario
from harness.pytest.own_thread import OwnThread
from harness.pytest.run import Run
from harness.pytest.settings import api_key, value_of
from harness.pytest.spine import spine
from harness.pytest.undecided import Undecided
from harness.sla.errors import RuleError
from scenarios.scaling import scaled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import pytest

    from harness.comparison.objectives import RelativeRule
    from harness.comparison.side import Side
    from harness.pytest.spine import FinishedRun
    from harness.sla.rule import Rule
    from harness.workers.crew_size import Asked
    from scenarios.scenario import Scenario

__tracebackhide__ = True


class Sender:
    """Makes scenarios of what tests ask for, and runs of scenarios.

    Args:
        config: The session's.
        endpoint: Address of the server.
        usual: Keys of a scenario that every load has unless it says otherwise.
        baseline: What the runs are held against, None for nothing.
    """

    def __init__(
        self,
        config: pytest.Config,
        endpoint: str,
        usual: Mapping[str, object],
        baseline: Side | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._usual = usual
        self._baseline = baseline
        self._model = value_of(config, "model")
        self._scale = float(value_of(config, "scale") or 1)
        self._undecided = Undecided.of(config)

    def scenario(
        self,
        source: str | Path | Scenario | Mapping[str, Any] | None,
        keys: Mapping[str, object],
        rules: Iterable[Rule | RelativeRule],
        name: str,
    ) -> Scenario:
        """The scenario of one load, as long as ``--sla-scale`` says; arguments as for ``build_scenario``.

        Raises:
            ScenarioError: Anything is wrong with it, or it could not be judged by its objectives.
        """
        scenario = scaled(build_scenario(source, {**self._usual, **keys}, rules, name), self._scale)
        objectives_of(scenario, scenario.outline())
        return scenario

    def demand_judgeable(self, scenario: Scenario, rules: Iterable[Rule]) -> None:
        """Refuse what a marker asks of a run of the scenario, where no such run could answer.

        Raises:
            RuleError: It has no values for one of the rules.
        """
        stated = build_scenario(scenario, {}, rules)
        try:
            objectives_of(stated, stated.outline())
        except RuleError as error:
            raise RuleError(f"sla marker: {error}") from error

    def thread(self, scenario: Scenario, folder: Path, workers: Asked) -> OwnThread[FinishedRun]:
        """A thread that will run the scenario."""
        run, interruption = spine(), Interruption()
        return OwnThread(
            lambda: run(
                scenario,
                base_url=self._endpoint,
                api_key=api_key(),
                model=self._model or scenario.model,
                result_dir=folder,
                workers=workers,
                baseline=self._baseline,
                interruption=interruption,
            ),
            interruption.tell,
        )

    def run_of(self, finished: FinishedRun, folder: Path) -> Run:
        """A finished run, as tests see it."""
        return Run(finished, folder, self._undecided, self._baseline)

    def key(self, scenario: Scenario, workers: Asked) -> str:
        """Equal for loads that are the same in everything."""
        asked = repr((scenario.to_mapping(), str(workers), self._endpoint, self._model))
        return hashlib.sha256(asked.encode()).hexdigest()[:16]
