"""A run as a comparison sees it: what it was and what it gave."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from harness.census import Census
from harness.comparison.errors import ComparisonError
from harness.comparison.identity import Identity, identity_of
from harness.comparison.sample import Sample
from harness.comparison.sampling import sample_of
from harness.damage import examined
from harness.past_scenario import past_scenario
from harness.sla.grammar import rules_from
from harness.terms import Terms
from harness.workers.journals import read_records
from reports.document import DocumentError
from reports.result import Result, load

if TYPE_CHECKING:
    from harness.result_folder import Manifest, ResultFolder


class PastRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run.

    Attributes:
        identity: What it was.
        sample: What it gave.
    """

    identity: Identity
    sample: Sample

    def same_as(self, other: PastRun) -> bool:
        """Whether it is that very run, wherever it is kept."""
        return self.identity.started_at == other.identity.started_at and self.sample == other.sample


def read_run(folder: ResultFolder) -> PastRun:
    """The run of a result folder, with what is wrong with its files among its faults.

    Raises:
        ComparisonError: It has no result, as that of a run that was killed.
        HarnessError: The folder can't be read.
    """
    manifest = folder.manifest()
    try:
        result = load(folder.result_path)
    except DocumentError as error:
        raise ComparisonError(
            f"{error}; make it with 'tokenpace report {folder.path}' if it is missing"
        ) from error
    census = Census()
    run = past_run(folder, manifest, result, census)
    _, damage = examined(folder, census, 0)
    faults = tuple(dict.fromkeys((*run.identity.faults, *damage.causes)))
    return structs.replace(run, identity=structs.replace(run.identity, faults=faults))


def past_run(
    folder: ResultFolder, manifest: Manifest, result: Result, census: Census | None = None
) -> PastRun:
    """The same where manifest and result are at hand already, which tell of damage themselves.

    Args:
        folder: The run's.
        manifest: Likewise.
        result: Likewise.
        census: Counts the lines of the journal.
    """
    scenario = past_scenario(manifest.scenario)
    start_s, _ = result.window_s
    window = structs.replace(
        manifest.window, start_ns=round(start_s * 1e9), warmup_requests=0, auto_warmup=False
    )
    return PastRun(
        identity=identity_of(manifest, result),
        sample=sample_of(
            read_records(folder.journal_path, census),
            result,
            window,
            rules_from(scenario.thresholds),
            Terms.of(scenario),
        ),
    )
