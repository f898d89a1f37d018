"""The scenario of a run, as far as it judges what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from scenarios.scenario import Scenario, scenario_from
from scenarios.tokenizer import WORDS

if TYPE_CHECKING:
    from collections.abc import Mapping

_NOT_SENT_AGAIN: Final = {
    "load": {"arrivals": "closed", "concurrency": 1, "requests": 1},
    "prompts": {"source": "text", "text": "-"},
    "tokenizer": WORDS,
}
_FILES_OF_QUALITY: Final = ("text", "reference")


def past_scenario(scenario: Mapping[str, Any]) -> Scenario:
    """Objectives, confidence, limits and names, without what was sent.

    So that a run can be reported where its prompts, traces and tokenizer are not.

    Args:
        scenario: As the manifest holds it.

    Raises:
        ScenarioError: It is no scenario of this version.
    """
    kept = {**scenario, **_NOT_SENT_AGAIN}
    if "quality" in scenario:
        quality = scenario["quality"]
        kept["quality"] = {key: quality[key] for key in quality if key not in _FILES_OF_QUALITY}
    return scenario_from(kept)
