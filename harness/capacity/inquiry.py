"""A search from a scenario and an address to the files that it leaves."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import msgspec
from rich.console import Console

from harness.campaign.folder import CampaignFolder
from harness.capacity.answer import Question
from harness.capacity.axis import axis_of, expected_s, least_load
from harness.capacity.folder import SEARCH
from harness.capacity.running import RunProber
from harness.capacity.search import Limits
from harness.capacity.searching import find_capacity
from harness.objectives import objectives_of
from harness.preflight import find_model
from harness.secrets import without_secrets
from harness.wall_clock import now_text
from reports.capacity.console import probe_text

if TYPE_CHECKING:
    from pathlib import Path

    from harness.campaign.order import Order
    from harness.capacity.axis import Axis
    from harness.capacity.budget import Budget
    from harness.sla.rule import Rule
    from reports.capacity.search import Capacity
    from scenarios.scenario import Scenario

_LEAST_SHARE = 1e-3


async def inquire(scenario: Scenario, budget: Budget, order: Order) -> tuple[Capacity, tuple[Path, ...]]:
    """Search, or go on with a search; the answer, and the files that hold it.

    Args:
        scenario: What is sent.
        budget: What may be spent.
        order: How the probes are made.

    Raises:
        ScenarioError: The scenario can't be used. Nothing was sent.
        HarnessError: The options, the server or the folder can't be used.
    """
    rules = objectives_of(scenario, scenario.outline())
    axis = axis_of(scenario, rules)
    budget.check(axis)
    target = order.address.target()
    model = await find_model(target, scenario.timeouts, order.model or scenario.model)
    question = _question(scenario, axis, rules, target.url, model)
    folder = CampaignFolder.open(order.output, scenario.name, SEARCH)
    earlier = folder.earlier(question)
    if earlier is not None:
        question = msgspec.structs.replace(question, started_at=earlier.started_at)
    capacity = await find_capacity(
        question,
        _limits(scenario, axis, budget),
        RunProber(scenario, axis, folder, order, model),
        earlier=() if earlier is None else earlier.probes,
        on_probe=functools.partial(_on_probe, order, folder),
    )
    return capacity, folder.write(capacity)


def _question(scenario: Scenario, axis: Axis, rules: tuple[Rule, ...], url: str, model: str) -> Question:
    return Question(
        scenario_name=scenario.name,
        scenario=without_secrets(scenario.to_mapping()),
        key=axis.key,
        unit=axis.unit,
        objectives=tuple(map(str, rules)),
        base_url=url,
        model=model,
        started_at=now_text(),
    )


def _limits(scenario: Scenario, axis: Axis, budget: Budget) -> Limits:
    start = axis.start if budget.start is None else budget.start
    lowest = budget.lowest
    if lowest is None:
        lowest = 0.0 if axis.whole else start * _LEAST_SHARE
    return Limits(
        start=start,
        lowest=max(lowest, least_load(scenario, axis)),
        highest=axis.most if budget.highest is None else budget.highest,
        whole=axis.whole,
        confidence=scenario.confidence,
        precision=budget.precision,
        max_probes=budget.max_probes,
        max_time_s=budget.max_time_s,
        expect_s=functools.partial(expected_s, scenario, axis),
    )


def _on_probe(order: Order, folder: CampaignFolder[Capacity], capacity: Capacity) -> None:
    folder.save(capacity)
    if not order.quiet:
        Console(stderr=True).print(probe_text(capacity.probes[-1], capacity.unit), soft_wrap=True)
