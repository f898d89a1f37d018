"""From the arguments of ``load`` to a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from harness.objectives import faults_in
from scenarios import arrivals
from scenarios.errors import ScenarioError
from scenarios.sampling import Sampling
from scenarios.scenario import Scenario, load_scenario, scenario_from
from scenarios.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from harness.comparison.objectives import RelativeRule
    from harness.sla.rule import Rule

_TEXTS_KEPT: Final = 100


def build_scenario(
    source: str | Path | Scenario | Mapping[str, Any] | None,
    keys: Mapping[str, object],
    rules: Iterable[Rule | RelativeRule] = (),
    name: str = "test",
) -> Scenario:
    """The scenario of one load.

    Args:
        source: Name of a library scenario, path of a file, a scenario, its mapping; None to say all by keys.
        keys: Keys of the sections ``load`` and ``sampling`` and of the scenario itself, in one. ``prompts``
            may be a text or a list of texts.
        rules: Objectives in addition to those of the source; they may be relative to a baseline.
        name: The scenario's name if it has none.

    Raises:
        ScenarioError: Anything is wrong with it.
    """
    data = _mapping(source, name)
    for key, value in keys.items():
        _put(data, key, value)
    if source is None:
        _complete(data)
    thresholds = data.setdefault("thresholds", {})
    for rule in rules:
        thresholds[rule.key] = [*_texts(thresholds.get(rule.key, [])), rule.condition]
    return scenario_from(data)


def _mapping(source: str | Path | Scenario | Mapping[str, Any] | None, name: str) -> dict[str, Any]:
    if source is None:
        return {"name": name, "samples": _TEXTS_KEPT}
    if isinstance(source, str | Path):
        source = load_scenario(source, objections=faults_in)
    return source.to_mapping() if isinstance(source, Scenario) else {"name": name, **source}


def _put(data: dict[str, Any], key: str, value: object) -> None:
    loads, sampling = _load_keys(), set(Sampling.model_fields)
    top = {field.alias or name for name, field in Scenario.model_fields.items()}
    if key == "prompts":
        texts = isinstance(value, str | list | tuple)
        data[key] = {"source": "text", "text": value} if texts else value
    elif key in top:
        data[key] = value
    elif key in loads:
        data["load"] = {**data.get("load", {}), key: value}
    elif key in sampling:
        data["sampling"] = {**data.get("sampling", {}), key: value}
    else:
        raise ScenarioError(f"load({key}=...): no such key; {did_you_mean(key, top | loads | sampling)}")


def _load_keys() -> set[str]:
    kinds = (arrivals.kinds.load(name) for name in arrivals.kinds.names)
    return {field for kind in kinds for field in kind.model_fields}


def _complete(data: dict[str, Any]) -> None:
    """Say what a few keys leave open: a rate is kept evenly, and without one a single user asks."""
    load = data.setdefault("load", {})
    if "arrivals" not in load:
        load["arrivals"] = "constant" if "rate" in load else "closed"
    if load["arrivals"] == "closed":
        load.setdefault("concurrency", 1)


def _texts(value: object) -> list[str]:
    return [value] if isinstance(value, str) else list(value)  # type: ignore[call-overload]  # checked by the scenario
