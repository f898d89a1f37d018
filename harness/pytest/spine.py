"""The door to ``harness.run``, which is imported when the first load is made."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from harness.comparison.side import Side
    from harness.interruption import Interruption
    from harness.record import Record
    from harness.workers.crew_size import Asked
    from reports.result import Result
    from scenarios.scenario import Scenario


class FinishedRun(Protocol):
    """What a run leaves."""

    @property
    def result(self) -> Result:
        """The judged result."""

    @property
    def records(self) -> Iterable[Record]:
        """All requests; may be asked for more than once."""

    @property
    def fault(self) -> Exception | None:
        """Why some of the result folder could not be written; None where all of it was."""

    def judged_with(self, thresholds: Mapping[str, Sequence[str]], baseline: Side | None = None) -> Result:
        """The result, had the scenario stated these objectives beside its own."""


class Spine(Protocol):
    """Runs a scenario and writes its result folder."""

    async def __call__(
        self,
        scenario: Scenario,
        *,
        base_url: str,
        api_key: str | None,
        model: str | None,
        result_dir: Path,
        workers: Asked,
        baseline: Side | None,
        interruption: Interruption,
    ) -> FinishedRun:
        """Run it; ``result_dir`` is made and must not hold files."""


def spine() -> Spine:
    """The one of the installed harness."""
    return cast("Spine", importlib.import_module("harness.run").run)
