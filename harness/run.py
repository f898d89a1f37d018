"""The spine, the only file that knows every stage.

scenario -> schedule -> driver -> record -> journal and histograms -> result -> verdict -> reports
"""

from __future__ import annotations

import contextlib
import dataclasses
from typing import TYPE_CHECKING

from msgspec import structs

from harness.address import Address
from harness.calibration.kept import with_calibration
from harness.client import Client
from harness.comparison.against_baseline import demand_comparable, judged_against, keep
from harness.conclusion import Conclusion
from harness.damage import UNDAMAGED, examined
from harness.deferral import Deferral
from harness.embedding import Underway
from harness.environment import environment
from harness.errors import JournalError
from harness.histogram_log import write_histograms
from harness.interruption import Interruption
from harness.local_load import LocalLoad
from harness.looks import Looks
from harness.objectives import objectives_of
from harness.observer import Observer
from harness.preflight import find_model
from harness.quality import of_scenario
from harness.recount import recounted
from harness.result_folder import Manifest, ResultFolder, not_all_written
from harness.second_look import judged_with
from harness.server_counter import schedule_of
from harness.tally import Tally
from harness.telemetry.log import read_telemetry
from harness.telemetry.scraper import Scraper
from harness.version import __version__
from harness.wall_clock import now_text
from harness.window import window_of
from harness.workers.crew import Crew
from harness.workers.crew_size import crew_size
from harness.workers.journals import read_records
from harness.workers.process import WorkerProcess
from reports import formats
from reports.result import Result, Verdict, save
from scenarios.tokenizer import SERVER

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from harness.comparison.side import Side
    from harness.damage import Damage
    from harness.embedding import Embedding
    from harness.errors import HarnessError
    from harness.record import Record
    from harness.result_folder import Checkpoint
    from harness.target import Target
    from harness.workers.crew_size import Asked
    from reports.progress import Progress
    from scenarios.scenario import Scenario
    from scenarios.schedule import Schedule


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
    """A run that is over.

    Attributes:
        folder: What it left on disk.
        result: The numbers and the verdict.
        reports: The reports written, by name.
        fault: Why some of the folder could not be written, None where all of it was. The result holds
            what was measured until then.
    """

    folder: ResultFolder
    result: Result
    reports: dict[str, Path]
    fault: HarnessError | None = None

    @property
    def exit_code(self) -> int:
        """The result's, or that of INVALID where the folder isn't whole."""
        return Verdict.INVALID.exit_code if self.fault is not None else self.result.exit_code

    @property
    def records(self) -> Iterator[Record]:
        """Every request, read from the journal in the order of their ends."""
        return read_records(self.folder.journal_path)

    def judged_with(self, thresholds: Mapping[str, Sequence[str]], baseline: Side | None = None) -> Result:
        """The result, had the scenario stated these objectives beside its own (``harness.second_look``)."""
        return judged_with(self.folder, thresholds, baseline)


async def run(
    scenario: Scenario,
    *,
    base_url: str,
    api_key: str | None = None,
    model: str | None = None,
    headers: Mapping[str, str] | None = None,
    verify: bool | str | Path = True,
    proxy: str | None = None,
    result_dir: Path | None = None,
    reports: Collection[str] | None = None,
    progress: Progress | None = None,
    telemetry: bool = True,
    workers: Asked = 1,
    baseline: Side | None = None,
    interruption: Interruption | None = None,
    embedding: Embedding | None = None,
) -> Run:
    """Send a scenario, judge it, leave a result folder.

    Args:
        scenario: What to send, and the objectives.
        base_url: Whom to send it to, in any form that ``Target.parse`` reads.
        api_key: Sent as a bearer token.
        model: The model's name; by default the scenario's, else the only one that the server lists.
        headers: Sent with every request.
        verify: A CA file to trust, or False to accept any certificate.
        proxy: Address of an HTTP proxy.
        result_dir: Where the result folder goes; ``results/<scenario>-<time>`` by default.
        reports: Names of the reports to write; all by default.
        progress: Shows how the run stands, already entered.
        telemetry: Whether to read the server's own metrics while the run goes on.
        workers: Processes that send the load: a number, or ``auto``. One is this process itself, unless the
            embedding has them elsewhere.
        baseline: What to hold the run against; objectives may be relative to it.
        interruption: By which whoever takes the signals tells the run to end; its own by default.
        embedding: The tool in which the run goes on, in this one process where it has no workers of its own;
            None for a run by itself.

    Raises:
        ScenarioError: The scenario or an objective can't be used. Nothing was sent.
        UnknownReportError: There is no report of that name. Nothing was sent.
        HarnessError: The address, the server or the folder can't be used. Nothing was sent.
    """
    for report_name in reports or ():
        formats.get(report_name)
    schedule = scenario.outline() if scenario.tokenizer == SERVER else scenario.schedule()
    decided = schedule.stop.decided
    demand_comparable(scenario, schedule.loop, model or scenario.model, baseline, until_decided=decided)
    objectives_of(scenario, schedule, telemetry=telemetry)
    address = Address(
        base_url=base_url,
        api_key=api_key,
        headers=dict(headers or {}),
        verify=verify if isinstance(verify, bool) else str(verify),
        proxy=proxy,
    )
    target = address.target()
    name = await find_model(target, scenario.timeouts, model or scenario.model)
    if scenario.tokenizer == SERVER:
        schedule = await schedule_of(scenario, target, name)
    if embedding is not None and embedding.requests is not None:
        schedule = embedding.requests.schedule_like(schedule)
    quality = await of_scenario.measured(scenario.quality, target, name)
    client = Client(target, scenario.endpoint, name, scenario.timeouts, scenario.local_counter())
    hire = None if embedding is None else embedding.hire
    num_workers, worker_notes = crew_size(workers, schedule, elsewhere=hire is not None)
    interruption = interruption or Interruption()
    deferral = Deferral()
    with deferral.holding():
        async with contextlib.AsyncExitStack() as at_end:
            at_end.enter_context(interruption.listening())
            if deferral.signal_name is not None:
                interruption.tell(deferral.signal_name)
            at_end.push_async_callback(client.close)
            folder = ResultFolder.create(result_dir, scenario.name)
            manifest = _manifest(scenario, schedule, target, name, worker_notes, embedding)
            manifest = structs.replace(manifest, quality=quality)
            folder.save(manifest)
            keep(baseline, folder)
            tally = Tally(manifest)
            path, stop = folder.journal_path, interruption.stop
            looks = Looks(schedule, scenario.confidence) if decided else None
            load: LocalLoad | Crew
            if num_workers == 1 and hire is None:
                load = LocalLoad(schedule, client, tally, path, stop, looks=looks, embedding=embedding)
            else:
                load = Crew(
                    *(schedule, num_workers, manifest, address, tally, path, stop),
                    looks=looks,
                    hire=hire or WorkerProcess,
                )
            if telemetry:
                scraper = Scraper(target, folder.telemetry_path, lambda: load.started_ns)
                await at_end.enter_async_context(scraper.watching())
            observer = Observer(schedule, load.status, interruption)
            if embedding is not None:
                embedding.on_begin(
                    Underway(manifest=manifest, folder=folder, tally=tally, status=load.status)
                )
            checkpoint, fault = await _send(load, observer, folder, progress)
        if checkpoint.finished:
            checkpoint = structs.replace(checkpoint, num_records=tally.summarizer.num_requests)
        done = _conclude(folder, manifest, tally, checkpoint, reports, fault)
        deferral.folder = str(folder.path)
        return done


def report(folder: ResultFolder, reports: Collection[str] | None = None) -> Run:
    """Make result and reports of an old or broken-off run again, from its journal.

    Raises:
        HarnessError: The folder can't be read or written.
    """
    manifest = folder.manifest()
    tally, census = recounted(folder, manifest)
    checkpoint, damage = examined(folder, census, tally.summarizer.ended_ns)
    return _conclude(folder, manifest, tally, checkpoint, reports, damage=damage)


async def _send(
    load: LocalLoad | Crew,
    observer: Observer,
    folder: ResultFolder,
    progress: Progress | None,
) -> tuple[Checkpoint, HarnessError | None]:
    """Send the load: how far it came, and why no farther. A journal that can't be written ends it."""
    fault: HarnessError | None = None
    try:
        async with observer.watching(folder, progress):
            await load.run()
    except JournalError as error:
        fault = error
    return observer.checkpoint(finished=fault is None), fault


def _manifest(
    scenario: Scenario,
    schedule: Schedule,
    target: Target,
    model: str,
    notes: tuple[str, ...],
    embedding: Embedding | None,
) -> Manifest:
    own_load = {} if embedding is None else embedding.load
    if embedding is not None:
        notes = (*notes, *embedding.notes)
    return Manifest(
        tool_version=__version__,
        scenario=scenario.to_mapping() | own_load,
        base_url=target.url,
        model=model,
        started_at=now_text(),
        loop=schedule.loop,
        capped=schedule.max_in_flight is not None,
        window=window_of(schedule),
        looks=schedule.stop.decided,
        notes=(*schedule.notes, *target.notes, *notes),
        environment=with_calibration(environment()),
    )


def _conclude(
    folder: ResultFolder,
    manifest: Manifest,
    tally: Tally,
    checkpoint: Checkpoint,
    reports: Collection[str] | None,
    fault: HarnessError | None = None,
    damage: Damage = UNDAMAGED,
) -> Run:
    tally.settle(read_records(folder.journal_path), checkpoint.decided)
    telemetry = read_telemetry(folder.telemetry_path)
    result, snapshot = Conclusion(manifest, tally).draw(checkpoint, telemetry, damage)
    written: dict[str, Path] = {}
    try:
        result = judged_against(folder, manifest, result)
        if not damage.checkpoint_is_lost:
            folder.save(checkpoint)
        save(result, folder.result_path)
        write_histograms(snapshot, result, folder.histograms_path)
        written = formats.write_reports(result, folder.path, reports)
    except OSError as error:
        fault = fault or not_all_written(folder.path, error)
    return Run(folder=folder, result=result, reports=written, fault=fault)
