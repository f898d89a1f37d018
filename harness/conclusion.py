"""From what a run left to its result: the half of the spine right of the record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.metrics import metric
from harness.recorder import step
from harness.sla.grammar import rules_from
from harness.sla.judge import judge
from harness.summary import Summarizer
from harness.telemetry.checks import BothSides
from harness.telemetry.client_side import ClientSide
from harness.telemetry.summary import server_telemetry, telemetry_notes
from harness.warm_up import WarmUp
from reports.curves import curve
from reports.result import SCHEMA_VERSION, Result
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from harness.record import Record
    from harness.result_folder import Checkpoint, Manifest
    from harness.summary.snapshot import Snapshot
    from harness.telemetry.log import Line
    from harness.window import Window
    from reports.result import Curve
    from reports.server_telemetry import ServerTelemetry

CURVES = ("ttft", "ttfa", "itl", "chunk_gap", "tpot", "e2e", "schedule_lag")


class Conclusion:
    """Takes the records of a run, one by one, and comes to its result.

    Args:
        manifest: What the run was asked to do.
    """

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._scenario = scenario_from(manifest.scenario)
        self._rules = rules_from(self._scenario.thresholds)
        self._warm_up = WarmUp(manifest.window)
        self._summarizer = self._new_summarizer(manifest.window)
        self._client_side = ClientSide()

    def _new_summarizer(self, window: Window) -> Summarizer:
        manifest = self._manifest
        return Summarizer(
            window,
            manifest.loop,
            capped=manifest.capped,
            rules=self._rules,
            max_samples=self._scenario.samples,
            stall_limit_ns=self._scenario.stall_limit,
        )

    def add(self, record: Record) -> None:
        """Take one request."""
        self._warm_up.add(record)
        self._summarizer.add(record)
        self._client_side.add(record)

    def settle(self, records: Iterable[Record]) -> None:
        """The run is over: measure it anew where the end of its warm-up is known only now.

        Args:
            records: All of them once more; not touched where the window was known before.
        """
        window = self._warm_up.window()
        if window == self._manifest.window:
            return
        self._summarizer = self._new_summarizer(window)
        for record in records:
            self._summarizer.add(record)

    def draw(self, checkpoint: Checkpoint, telemetry: Sequence[Line] = ()) -> tuple[Result, Snapshot]:
        """The result, and the frozen numbers that it was drawn from.

        Args:
            checkpoint: How far the run came.
            telemetry: What the server said of itself meanwhile.
        """
        manifest, scenario = self._manifest, self._scenario
        broken_off = checkpoint.interrupted is not None or not checkpoint.finished
        stopped = checkpoint.stopped is not None
        snapshot = self._summarizer.snapshot(
            ended_ns=checkpoint.elapsed_ns, interrupted=broken_off or stopped, health=checkpoint.health
        )
        summary = self._summarizer.summary(snapshot, scenario.confidence)
        judgement = judge(
            self._rules,
            snapshot,
            checkpoint.health,
            scenario.confidence,
            cause=self._warm_up.cause,
            complete=not stopped,
        )
        if not checkpoint.finished:
            judgement = judgement.broken_off()
        server = self._server(checkpoint, telemetry)
        fields = summary.fields()
        notes = (*_end_notes(checkpoint), *self._warm_up_notes(), *manifest.notes, *summary.notes)
        fields["notes"] = (*notes, *telemetry_notes(telemetry, server))
        result = Result(
            schema_version=SCHEMA_VERSION,
            tool_version=manifest.tool_version,
            scenario_name=scenario.name,
            scenario=manifest.scenario,
            base_url=manifest.base_url,
            model=manifest.model,
            endpoint=scenario.endpoint,
            loop=manifest.loop,
            seed=scenario.seed,
            started_at=manifest.started_at,
            duration_s=checkpoint.elapsed_ns / 1e9,
            verdict=judgement.verdict,
            causes=judgement.causes,
            interrupted=checkpoint.interrupted,
            rules=judgement.rules,
            health=checkpoint.health,
            environment=manifest.environment,
            curves=_curves(snapshot),
            server=server,
            **fields,
        )
        return result, snapshot

    def _warm_up_notes(self) -> tuple[str, ...]:
        return () if self._warm_up.note is None else (self._warm_up.note,)

    def _server(self, checkpoint: Checkpoint, telemetry: Sequence[Line]) -> ServerTelemetry | None:
        lifetimes = self._summarizer.lifetimes()
        both = BothSides(self._client_side, *lifetimes, ended_ns=checkpoint.elapsed_ns, readings=())
        return server_telemetry(telemetry, both, finished=checkpoint.finished)


def _end_notes(checkpoint: Checkpoint) -> Iterator[str]:
    if checkpoint.interrupted is not None:
        yield f"interrupted by {checkpoint.interrupted}: the numbers cover the part that was run"
    elif not checkpoint.finished:
        yield "the run was broken off: the numbers cover what its journal holds"
    if checkpoint.stopped is not None:
        yield f"ended early: {checkpoint.stopped}; the rest was not sent, so nothing passes"
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
