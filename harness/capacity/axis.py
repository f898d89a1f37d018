"""What a search varies: the rate of an open loop, or the slots of a closed one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from harness.capacity.errors import CapacityError
from harness.comparison.objectives import relative_rules_from
from harness.rates import REQUESTS_PER_SECOND, TOKENS_PER_SECOND
from scenarios.durations import format_duration
from scenarios.ranges import MAX_AT_ONCE, MAX_RATE, MIN_RATE
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.capacity.search import Step
    from harness.sla.rule import Rule
    from scenarios.scenario import Scenario

_SATURATION_AFTER_NS: Final = 30_000_000_000
_LEAST_SATURATION_NS: Final = 3_000_000_000
_SHARE_BEFORE: Final = 4
_FOR_ROUNDING: Final = 1.01
"""Loads are rounded to three digits."""


class Axis(NamedTuple):
    """A key of a scenario, and the load that it says.

    Attributes:
        key: ``load.rate`` or ``load.concurrency``.
        unit: ``requests/s`` or ``slots``.
        start: As the scenario has it.
        whole: Whether only whole numbers will do.
    """

    key: str
    unit: str
    start: float
    whole: bool

    @property
    def least(self) -> float:
        """The smallest load that a scenario can have."""
        return 1.0 if self.whole else MIN_RATE

    @property
    def most(self) -> float:
        """The largest."""
        return float(MAX_AT_ONCE) if self.whole else MAX_RATE

    @property
    def allowed(self) -> str:
        """In words, the loads that there are."""
        kind = "a whole number of slots, from" if self.whole else "requests per second, a number from"
        return f"{kind} {self.least:g} to {self.most:,.0f}"


def axis_of(scenario: Scenario, rules: Iterable[Rule]) -> Axis:
    """The axis of a scenario, whose objectives a search can be made for.

    Args:
        scenario: What is sent.
        rules: Its objectives with limits of their own.

    Raises:
        CapacityError: It has no objectives, or some that a small load misses or that are relative to a
            baseline; or its load isn't one number.
    """
    for relative in relative_rules_from(scenario.thresholds):
        raise CapacityError(
            f"'{relative}': a search is held against no baseline; state the limit as a number, or take it out"
        )
    rules = tuple(rules)
    if not rules:
        raise CapacityError(
            f"{scenario.name} states no objectives, so every load will do; give thresholds: "
            "{ttft: ['p95 < 500ms']}"
        )
    for rule in rules:
        if (
            rule.unit in (REQUESTS_PER_SECOND, TOKENS_PER_SECOND)
            and rule.is_rate
            and not rule.operator.is_ceiling
        ):
            raise CapacityError(
                f"'{rule}': a small load misses it however fast the server is, so there is no highest load "
                "that it holds at; take it out, or state attainment instead"
            )
    return _axis(scenario)


def _axis(scenario: Scenario) -> Axis:
    load: Any = scenario.load
    if load.arrivals == "closed":
        return Axis("load.concurrency", "slots", float(load.concurrency), whole=True)
    rate = getattr(load, "rate", None)
    if rate is None:
        raise CapacityError(
            f"load.arrivals: {load.arrivals} has no single rate to vary; use poisson, constant or gamma "
            "for a rate, or closed for a number of slots"
        )
    return Axis("load.rate", "requests/s", float(rate), whole=False)


def least_load(scenario: Scenario, axis: Axis) -> float:
    """The smallest load of a probe: one at which a request falls into the time that is measured."""
    load: Any = scenario.load
    if axis.whole or load.end_ns is None:
        return axis.least
    measured_s: float = (load.end_ns - load.warmup_ns - load.cooldown) / 1e9
    return max(axis.least, _FOR_ROUNDING / measured_s)


def at(scenario: Scenario, axis: Axis, step: Step, number: int) -> Scenario:
    """The scenario of a probe.

    With more slots than the scenario has there are more requests in proportion, so that each slot has as
    many. Its seed is that of the scenario and ``number`` together, so that no probe repeats the chance of
    another. An open loop ends once it saturates the server, which is looked for from a quarter of its
    length on.

    Raises:
        ScenarioError: Such a load can't be run.
    """
    data = scenario.to_mapping()
    load = data["load"]
    load[axis.key.partition(".")[2]] = round(step.load) if axis.whole else step.load
    if scenario.load.duration is not None:
        load["duration"] = format_duration(round(scenario.load.duration * step.length))
    if scenario.load.requests is not None:
        more_slots = max(1.0, step.load / axis.start) if axis.whole else 1.0
        load["requests"] = round(scenario.load.requests * step.length * more_slots)
    if not axis.whole:
        stop = load.get("stop") or {}
        load["stop"] = {"saturation": _saturation(scenario, step), **stop}
    data["seed"] = scenario.seed + number
    return scenario_from(data)


def expected_s(scenario: Scenario, axis: Axis, step: Step) -> float | None:
    """How long a probe sends; None where only the server knows."""
    load, ends = scenario.load, []
    if load.duration is not None:
        ends.append(load.duration / 1e9 * step.length)
    if load.requests is not None and not axis.whole:
        ends.append(load.requests * step.length / step.load)
    return min(ends, default=None)


def _saturation(scenario: Scenario, step: Step) -> str:
    sends_s = expected_s(scenario, _axis(scenario), step)
    assert sends_s is not None  # an open loop ends by time or number
    after_ns = min(_SATURATION_AFTER_NS, round(sends_s * 1e9 / _SHARE_BEFORE))
    return format_duration(max(_LEAST_SATURATION_NS, after_ns))
