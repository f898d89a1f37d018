"""The objectives that a scenario states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness import wire
from harness.comparison.objectives import relative_rules_from
from harness.sla.contradictions import demand_consistent
from harness.sla.errors import RuleError
from harness.sla.grammar import parse_key, rules_from
from harness.sla.preconditions import demand_judgeable, demand_reference

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from harness.sla.rule import Rule
    from scenarios.documents import Key
    from scenarios.scenario import Scenario
    from scenarios.schedule import Schedule


def objectives_of(scenario: Scenario, schedule: Schedule, *, telemetry: bool = True) -> tuple[Rule, ...]:
    """All of them, each one that a run of the scenario can be judged by.

    Args:
        scenario: What is sent.
        schedule: Its own, or its outline.
        telemetry: Whether the server's own metrics are read meanwhile.

    Raises:
        RuleError: One can't be read, or has no values in such a run, or contradicts another.
    """
    rules = rules_from(scenario.thresholds)
    demand_consistent(rules)
    demand_values(rules, scenario, schedule.loop, until_decided=schedule.stop.decided, telemetry=telemetry)
    if scenario.quality is not None and scenario.quality.reference is None:
        demand_reference(rules)
    return rules


def demand_values(
    rules: Iterable[Rule],
    scenario: Scenario,
    loop: str,
    *,
    until_decided: bool = False,
    telemetry: bool = True,
) -> None:
    """Refuse rules that no run of a scenario could be judged by.

    Args:
        rules: All rules of the run.
        scenario: What is sent, or was.
        loop: ``open`` or ``closed``.
        until_decided: Whether the run is to end once all of them are decided.
        telemetry: Whether the server's own metrics are read meanwhile.

    Raises:
        RuleError: One of them has no values in such a run.
    """
    demand_judgeable(
        rules,
        loop=loop,
        streaming=wire.endpoint(scenario.endpoint).streaming,
        deadlines=scenario.token_deadlines is not None,
        until_decided=until_decided,
        telemetry=telemetry,
        quality=scenario.quality is not None,
    )


def faults_in(thresholds: Mapping[str, Sequence[str]]) -> Iterator[tuple[Key, str]]:
    """What of a scenario's thresholds is no objective: the key, or key and index of a condition, and why."""
    for key, conditions in thresholds.items():
        try:
            parse_key(key)
        except RuleError as error:
            yield (key,), str(error)
            continue
        for index, condition in enumerate(conditions):
            if (fault := _fault(key, condition, conditions[:index])) is not None:
                yield (key, index), fault


def _fault(key: str, condition: str, before: Sequence[str]) -> str | None:
    stated = {key: [condition]}
    try:
        rules = rules_from(stated)
        relative_rules_from(stated)
        for other in before:
            if _fault(key, other, ()) is None:
                demand_consistent((*rules_from({key: [other]}), *rules))
    except RuleError as error:
        return str(error).removeprefix(f"thresholds: {key}: ")
    return None
