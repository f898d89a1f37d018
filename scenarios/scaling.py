"""A scenario of another length: the same load at the same rate, for a part of its time or requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from scenarios.durations import format_duration, parse_duration
from scenarios.scenario import scenario_from
from scenarios.warm_up import AUTO

if TYPE_CHECKING:
    from scenarios.scenario import Scenario

_TIMES: Final = ("duration", "warmup", "cooldown", "ramp")
_NUMBERS: Final = ("requests", "warmup_requests")


def scaled(scenario: Scenario, factor: float) -> Scenario:
    """The scenario with all that says how long it is multiplied; rates and concurrency stay.

    Args:
        scenario: Any.
        factor: Greater than 0. At least one request and 1 ms are left of what there was.

    Raises:
        ScenarioError: So long or so short it can't be.
    """
    if factor == 1:
        return scenario
    data = scenario.to_mapping()
    data["load"] = _scaled(data["load"], factor)
    return scenario_from(data)


def _scaled(load: dict[str, Any], factor: float) -> dict[str, Any]:
    times = {key: _time(load[key], factor) for key in _TIMES if load.get(key, AUTO) != AUTO}
    numbers = {key: max(1, round(load[key] * factor)) for key in _NUMBERS if load.get(key)}
    stages = {"stages": [_scaled(stage, factor) for stage in load["stages"]]} if "stages" in load else {}
    return {**load, **times, **numbers, **stages}


def _time(text: str, factor: float) -> str:
    duration_ns = parse_duration(text)
    return format_duration(max(1_000_000, round(duration_ns * factor)) if duration_ns else 0)
