"""The objectives that a scenario states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness import wire
from harness.sla.grammar import rules_from
from harness.sla.preconditions import demand_judgeable

if TYPE_CHECKING:
    from harness.sla.rule import Rule
    from scenarios.scenario import Scenario
    from scenarios.schedule import Schedule


def objectives_of(scenario: Scenario, schedule: Schedule) -> tuple[Rule, ...]:
    """All of them, each one that a run of the scenario can be judged by.

    Args:
        scenario: What is sent.
        schedule: Its own, or its outline.

    Raises:
        RuleError: One can't be read, or has no values in such a run.
    """
    rules = rules_from(scenario.thresholds)
    demand_judgeable(
        rules,
        loop=schedule.loop,
        streaming=wire.endpoint(scenario.endpoint).streaming,
        deadlines=scenario.token_deadlines is not None,
        until_decided=schedule.stop.decided,
    )
    return rules
