"""Probes as runs against a server, each with a result folder of its own."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

from harness.capacity.axis import at
from harness.capacity.draining import drained
from harness.capacity.searching import Interrupted
from harness.capacity.verdict import probe_of
from harness.run import run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from harness.address import Address
    from harness.capacity.axis import Axis
    from harness.capacity.folder import SearchFolder
    from harness.capacity.search import Step
    from reports.capacity.search import Probe
    from reports.progress import Progress
    from scenarios.scenario import Scenario

_REPORTS = ("html",)


class RunProber:
    """Runs a scenario at the loads that are asked for.

    Args:
        scenario: As given.
        axis: What of it is varied.
        folder: Where the result folders go.
        address: The server.
        progress: Shows how a probe stands; a new one for each.
        options: Of ``harness.run.run``: ``model``, ``workers``, ``telemetry``.
    """

    def __init__(
        self,
        scenario: Scenario,
        axis: Axis,
        folder: SearchFolder,
        address: Address,
        progress: Callable[[Step], AbstractContextManager[Progress]],
        **options: Any,  # noqa: ANN401 (passed on)
    ) -> None:
        self._scenario = scenario
        self._axis = axis
        self._folder = folder
        self._address = address
        self._progress = progress
        self._options = options

    async def __call__(self, step: Step, before: Sequence[Probe]) -> Probe | Interrupted:
        """Run it, then wait until the server is empty.

        Raises:
            ScenarioError: The scenario can't be run at that load.
            HarnessError: The server is gone, or the folder can't be written.
        """
        begun_s, number = time.monotonic(), len(before) + 1
        path = self._folder.for_probe(number, step.load, self._axis.key)
        with self._progress(step) as progress:
            done = await run(
                at(self._scenario, self._axis, step, number),
                **msgspec.structs.asdict(self._address),
                result_dir=path,
                reports=_REPORTS,
                progress=progress,
                **self._options,
            )
        if done.fault is not None:
            raise done.fault
        if done.result.interrupted is not None:
            return Interrupted(done.result.interrupted)
        probe = probe_of(step, before, done.result, done.folder.manifest(), done.folder.checkpoint())
        words = await self._drain()
        return msgspec.structs.replace(
            probe,
            folder=str(path.relative_to(self._folder.path)),
            drained=words,
            duration_s=time.monotonic() - begun_s,
        )

    async def _drain(self) -> str:
        if not self._options.get("telemetry", True):
            return "our own requests were over; the server was not asked (--no-telemetry)"
        return (await drained(self._address.target())).words
