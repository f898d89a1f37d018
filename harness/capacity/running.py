"""Probes as runs against a server, each with a result folder of its own."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from harness.campaign.interrupted import Interrupted
from harness.campaign.one_run import run_one, words_of_draining
from harness.capacity.axis import at
from harness.capacity.folder import probe_name
from harness.capacity.verdict import probe_of, where_the_server_died
from harness.errors import PreflightError
from harness.preflight import find_model
from reports.capacity.words import load_words
from reports.result import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.campaign.folder import CampaignFolder
    from harness.campaign.order import Order
    from harness.capacity.axis import Axis
    from harness.capacity.search import Step
    from reports.capacity.search import Capacity, Probe
    from scenarios.scenario import Scenario


class RunProber:
    """Runs a scenario at the loads that are asked for.

    Args:
        scenario: As given.
        axis: What of it is varied.
        folder: Where the result folders go.
        order: How the runs are made.
        model: The model's name.
    """

    def __init__(
        self, scenario: Scenario, axis: Axis, folder: CampaignFolder[Capacity], order: Order, model: str
    ) -> None:
        self._scenario = scenario
        self._axis = axis
        self._folder = folder
        self._order = order
        self._model = model

    async def __call__(self, step: Step, before: Sequence[Probe]) -> Probe | Interrupted:
        """Run it, then wait until the server is empty, and see that it is still there where it failed.

        Raises:
            ScenarioError: The scenario can't be run at that load.
            HarnessError: The server is gone, or the folder can't be written.
        """
        begun_s, number = time.monotonic(), len(before) + 1
        path = self._folder.place(probe_name(number, step.load, self._axis.key))
        scenario = at(self._scenario, self._axis, step, number)
        done = await run_one(scenario, path, self._order, self._model, self._head(step))
        if isinstance(done, Interrupted):
            return done
        probe = probe_of(step, before, done.result, done.folder.manifest(), done.folder.checkpoint())
        words = await words_of_draining(self._order)
        if probe.verdict is Verdict.FAIL and done.result.errors:
            probe = await self._unless_dead(probe)
        return msgspec.structs.replace(
            probe,
            folder=str(path.relative_to(self._folder.path)),
            drained=words,
            duration_s=time.monotonic() - begun_s,
        )

    async def _unless_dead(self, probe: Probe) -> Probe:
        target = self._order.address.target()
        try:
            await find_model(target, self._scenario.timeouts, self._model)
        except PreflightError as error:
            return where_the_server_died(probe, str(error))
        return probe

    def _head(self, step: Step) -> str:
        longer = "" if step.length == 1 else f", {step.length:.3g} times as long"
        return f"probe at {load_words(step.load, self._axis.unit)}{longer}"
