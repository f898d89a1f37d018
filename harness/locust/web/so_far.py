"""A run that goes on, as a result in which nothing has been judged."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from harness.conclusion import beginning
from harness.telemetry.checks import BothSides
from harness.telemetry.log import read_telemetry
from harness.telemetry.summary import server_telemetry
from reports.result import Result

if TYPE_CHECKING:
    from pathlib import Path

    from harness.load_status import LoadStatus
    from harness.result_folder import Manifest
    from harness.tally import Tally

METRICS: Final = frozenset({"ttft", "itl", "tpot", "e2e"})
"""What is shown of a run that goes on: all that the report has would take the engine's time."""


def so_far(manifest: Manifest, tally: Tally, status: LoadStatus, telemetry_path: Path) -> Result:
    """What is known now.

    Args:
        manifest: What the run was asked to do.
        tally: The requests that have ended.
        status: How the load stands.
        telemetry_path: What the server has said of itself.
    """
    scenario, summarizer, telemetry = tally.scenario, tally.summarizer, read_telemetry(telemetry_path)
    snapshot = summarizer.snapshot(ended_ns=status.elapsed_ns, interrupted=True, health=status.health)
    shown = {series: found for series, found in snapshot.histograms.items() if series.metric in METRICS}
    snapshot = dataclasses.replace(snapshot, histograms=shown)
    both = BothSides(tally.client_side, *summarizer.lifetimes(), ended_ns=status.elapsed_ns, readings=())
    return Result(
        duration_s=status.elapsed_ns / 1e9,
        verdict=None,
        causes=(),
        interrupted=None,
        rules=(),
        health=status.health,
        environment={},
        server=server_telemetry(telemetry, both, finished=False),
        **beginning(manifest, scenario) | summarizer.summary(snapshot, scenario.confidence).fields(),
    )
