"""A run that is over, judged again with more objectives: as if they had been stated before it began."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from msgspec import structs

from harness.comparison.against_baseline import held_against, kept_with
from harness.conclusion import Conclusion
from harness.damage import examined
from harness.objectives import demand_values
from harness.past_scenario import past_scenario
from harness.recount import recounted
from harness.sla.grammar import rules_from
from harness.telemetry.log import read_telemetry
from harness.workers.journals import read_records

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.comparison.side import Side
    from harness.result_folder import Manifest, ResultFolder
    from reports.result import Result


def judged_with(
    folder: ResultFolder, thresholds: Mapping[str, Sequence[str]], baseline: Side | None = None
) -> Result:
    """The result, had the scenario stated these objectives beside its own. Nothing is written.

    All of it is counted anew from the journal, since what is known of how far requests depend on each other
    hangs on the limit that an objective names.

    Args:
        folder: The run's.
        thresholds: By metric, as in a scenario.
        baseline: What relative ones are held against; by default what the run was.

    Raises:
        ScenarioError: One of them is no objective, or one that such a run has no values for.
        HarnessError: The folder can't be read.
    """
    manifest = _stating(folder.manifest(), thresholds)
    _demand_judgeable(manifest)
    tally, census = recounted(folder, manifest, min_bytes_each=sys.maxsize)
    checkpoint, damage = examined(folder, census, tally.summarizer.ended_ns)
    tally.settle(read_records(folder.journal_path), checkpoint.decided)
    result, _ = Conclusion(manifest, tally).draw(checkpoint, read_telemetry(folder.telemetry_path), damage)
    against = baseline or kept_with(folder)
    return result if against is None else held_against(against, folder, manifest, result)[0]


def _demand_judgeable(manifest: Manifest) -> None:
    scenario = past_scenario(manifest.scenario)
    demand_values(rules_from(scenario.thresholds), scenario, manifest.loop)


def _stating(manifest: Manifest, thresholds: Mapping[str, Sequence[str]]) -> Manifest:
    stated: dict[str, Any] = dict(manifest.scenario.get("thresholds", {}))
    for key, conditions in thresholds.items():
        stated[key] = [*stated.get(key, ()), *conditions]
    return structs.replace(manifest, scenario={**manifest.scenario, "thresholds": stated})
