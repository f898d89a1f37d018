"""From what a run left to its result: the half of the spine right of the record."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from msgspec import structs

from harness.calibration.kept import beyond
from harness.damage import UNDAMAGED
from harness.looks import NUM_LOOKS, confidence_at, place_of
from harness.metrics import metric
from harness.quality.of_scenario import note as quality_note
from harness.recorder import step
from harness.secrets import without_secrets
from harness.sla.judge import judge
from harness.telemetry.checks import BothSides
from harness.telemetry.server_samples import server_samples
from harness.telemetry.summary import server_telemetry, telemetry_notes
from reports.curves import curve
from reports.result import SCHEMA_VERSION, Looks, Result

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.damage import Damage
    from harness.result_folder import Checkpoint, Manifest
    from harness.sla.judge import Judgement
    from harness.summary import Summary
    from harness.summary.snapshot import Snapshot
    from harness.tally import Tally
    from harness.telemetry.log import Line
    from reports.result import ClientHealth, Curve
    from reports.server_telemetry import ServerTelemetry
    from scenarios.scenario import Scenario

CURVES = ("ttft", "ttfa", "itl", "chunk_gap", "tpot", "e2e", "schedule_lag")


def beginning(manifest: Manifest, scenario: Scenario) -> dict[str, Any]:
    """Fields of a result that are known before any request has ended."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tool_version": manifest.tool_version,
        "scenario_name": scenario.name,
        "scenario": without_secrets(manifest.scenario),
        "base_url": manifest.base_url,
        "model": manifest.model,
        "endpoint": scenario.endpoint,
        "loop": manifest.loop,
        "seed": scenario.seed,
        "started_at": manifest.started_at,
    }


class Conclusion:
    """Comes from what the requests of a run add up to to its result.

    Args:
        manifest: What the run was asked to do.
        tally: Its requests, settled.
    """

    def __init__(self, manifest: Manifest, tally: Tally) -> None:
        self._manifest = manifest
        self._tally = tally

    def draw(
        self, checkpoint: Checkpoint, telemetry: Sequence[Line] = (), damage: Damage = UNDAMAGED
    ) -> tuple[Result, Snapshot]:
        """The result, and the frozen numbers that it was drawn from.

        Args:
            checkpoint: How far the run came.
            telemetry: What the server said of itself meanwhile.
            damage: What is wrong with the files that all this was read from.
        """
        manifest, tally, scenario = self._manifest, self._tally, self._tally.scenario
        known_health = None if damage.checkpoint_is_lost else checkpoint.health
        snapshot = tally.summarizer.snapshot(
            ended_ns=checkpoint.elapsed_ns, interrupted=not checkpoint.is_whole, health=known_health
        )
        server_said = server_samples(telemetry, snapshot.window_ns)
        snapshot = dataclasses.replace(snapshot, server=server_said, quality=manifest.quality)
        summary = tally.summarizer.summary(snapshot, scenario.confidence)
        looks = self._looks(checkpoint)
        judgement = self._judgement(snapshot, checkpoint, known_health, looks)
        judgement = judgement.invalid(*damage.causes, *_end_causes(checkpoint))
        server = self._server(checkpoint, telemetry)
        notes = (*self._notes(checkpoint, summary), *telemetry_notes(telemetry, server))
        result = Result(
            duration_s=checkpoint.elapsed_ns / 1e9,
            verdict=judgement.verdict,
            causes=judgement.causes,
            interrupted=checkpoint.interrupted,
            rules=judgement.rules,
            looks=looks,
            health=_with_pace(checkpoint.health, snapshot),
            environment=manifest.environment,
            curves=_curves(snapshot),
            server=server,
            **beginning(manifest, scenario) | summary.fields() | {"notes": notes},
        )
        return result, snapshot

    def _judgement(
        self, snapshot: Snapshot, checkpoint: Checkpoint, health: ClientHealth | None, looks: Looks | None
    ) -> Judgement:
        return judge(
            self._tally.rules,
            snapshot,
            health,
            self._tally.scenario.confidence if looks is None else looks.level,
            cause=self._tally.warm_up.cause,
            complete=checkpoint.stopped is None,
            interrupted=checkpoint.interrupted is not None,
            with_pace=not checkpoint.lost_workers,
        )

    def _notes(self, checkpoint: Checkpoint, summary: Summary) -> Iterator[str]:
        yield from _end_notes(checkpoint)
        yield from self._warm_up_notes()
        yield from self._manifest.notes
        if self._manifest.quality is not None:
            yield quality_note(self._manifest.quality)
        yield from summary.notes
        yield from self._calibration_notes(checkpoint, summary)

    def _looks(self, checkpoint: Checkpoint) -> Looks | None:
        if not self._manifest.looks:
            return None
        look = NUM_LOOKS if checkpoint.decided is None else checkpoint.decided.look
        confidence = self._tally.scenario.confidence
        return Looks(
            look=look,
            most=NUM_LOOKS,
            place=place_of(look),
            level=confidence_at(look, confidence),
            confidence=confidence,
        )

    def _warm_up_notes(self) -> tuple[str, ...]:
        note = self._tally.warm_up.note
        return () if note is None else (note,)

    def _calibration_notes(self, checkpoint: Checkpoint, summary: Summary) -> tuple[str, ...]:
        note = beyond(
            self._manifest.environment.get("calibration"),
            in_flight=max((point.in_flight for point in summary.timeline), default=0),
            chunks_per_s=checkpoint.health.num_chunks * 1e9 / max(1, checkpoint.elapsed_ns),
        )
        return () if note is None else (note,)

    def _server(self, checkpoint: Checkpoint, telemetry: Sequence[Line]) -> ServerTelemetry | None:
        lifetimes = self._tally.summarizer.lifetimes()
        both = BothSides(self._tally.client_side, *lifetimes, ended_ns=checkpoint.elapsed_ns, readings=())
        return server_telemetry(telemetry, both, finished=checkpoint.finished)


def _with_pace(health: ClientHealth, snapshot: Snapshot) -> ClientHealth:
    planned, achieved = snapshot.pace or (None, None)
    return structs.replace(health, planned_rate=planned, achieved_rate=achieved)


def _end_causes(checkpoint: Checkpoint) -> Iterator[str]:
    if not checkpoint.finished:
        yield "the run was broken off, so what was in flight is missing: run it again"
    for lost in checkpoint.lost_workers:
        yield f"{lost}, so the run ended early and requests are missing: run it again"


def _end_notes(checkpoint: Checkpoint) -> Iterator[str]:
    if checkpoint.interrupted is not None:
        yield f"interrupted by {checkpoint.interrupted}: the numbers cover the part that was run"
    elif not checkpoint.finished:
        yield "the run was broken off: the numbers cover what its journal holds"
    if checkpoint.stopped is not None:
        yield f"ended early: {checkpoint.stopped}; the rest was not sent, so nothing passes"
    if checkpoint.decided is not None:
        yield (
            f"ended early, {checkpoint.decided.at_ns / 1e9:.3g} s after its start: all objectives were "
            f"decided (look {checkpoint.decided.look} of {NUM_LOOKS})"
        )
    if checkpoint.num_backoffs:
        yield (
            f"{checkpoint.num_backoffs} times a slot waited (10 ms, doubling to 1 s) because its request "
            "got no reply at all"
        )


def _curves(snapshot: Snapshot) -> tuple[Curve, ...]:
    return tuple(
        curve(histogram, series.metric, series.basis, unit, step(unit))
        for series, histogram in snapshot.histograms.items()
        if histogram.n and series.metric in CURVES and (unit := metric(series.metric).unit)
    )
