"""The fixture ``load``: makes a run, in a sync test at once, in an async test when awaited."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from harness.pytest.pending_run import PendingRun
from harness.pytest.plainly import plainly

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pytest

    from harness.comparison.objectives import RelativeRule
    from harness.pytest.result_places import ResultPlaces
    from harness.pytest.run import Run
    from harness.pytest.sender import Sender
    from harness.sla.rule import Rule
    from harness.workers.crew_size import Asked
    from scenarios.scenario import Scenario

__tracebackhide__ = True


class Load:
    """Puts load on the server under test.

    Args:
        item: The test.
        sender: Sends it.
        rules: The objectives of the test's marker; they are judged with those of the scenario.
        places: Where result folders go.

    Attributes:
        runs: What was run so far.
    """

    def __init__(
        self, item: pytest.Item, sender: Sender, rules: Sequence[Rule | RelativeRule], places: ResultPlaces
    ) -> None:
        self.runs: list[Run] = []
        self._name = re.sub(r"[^A-Za-z0-9._-]+", "-", item.name).strip("-.") or "test"
        self._sender = sender
        self._rules = rules
        self._places = places
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
        scenario = self._sender.scenario(source, keys, self._rules, self._name)
        note = self.runs.append
        pending = PendingRun(self._sender, scenario, self._places.next(), workers, note, note)
        return pending if self._is_async else pending.wait()
