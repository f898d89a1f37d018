"""Runs the points of a grid one after the other."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec
from rich.console import Console

from harness import __version__, wire
from harness.capacity.draining import drained
from harness.errors import HarnessError
from harness.preflight import find_model
from harness.result_folder import ResultFolderError
from harness.run import run
from harness.secrets import without_secrets
from harness.sla.grammar import rules_from
from harness.sla.preconditions import demand_judgeable
from harness.sweep.folder import SweepFolder
from harness.sweep.grid import as_overrides
from reports.progress import progress
from reports.sweep.files import write_files
from reports.sweep.table import Latency, Point, Sweep
from reports.sweep.words import point_words
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from harness.address import Address
    from harness.run import Run
    from harness.sweep.grid import Grid
    from scenarios.scenario import Scenario

_REPORTS = ("html",)
_SHOWN = ("ttft", "tpot", "e2e")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Order:
    """How a sweep is to be made.

    Attributes:
        address: The server.
        model: As in ``harness.run.run``.
        output: The sweep's folder; a new one in ``results`` by default.
        workers: As in ``harness.run.run``.
        telemetry: Likewise.
        quiet: Print nothing.
    """

    address: Address
    model: str | None = None
    output: Path | None = None
    workers: str = "1"
    telemetry: bool = True
    quiet: bool = False


async def sweep(scenario: Scenario, grid: Grid, order: Order) -> tuple[Sweep, tuple[Path, ...]]:
    """Run every point that isn't on disk; the table, and the files that hold it.

    Raises:
        ScenarioError: The scenario can't be used at one of the points. Nothing was sent.
        HarnessError: The server or the folder can't be used.
    """
    scenarios = [scenario_from(scenario.to_mapping(), as_overrides(values)) for values in grid]
    for each in scenarios:
        _demand_judgeable(each)
    target = order.address.target()
    model = await find_model(target, scenario.timeouts, order.model or scenario.model)
    table = Sweep(
        tool_version=__version__,
        scenario_name=scenario.name,
        scenario=without_secrets(scenario.to_mapping()),
        axes=grid.axes,
        base_url=target.url,
        model=model,
        started_at=datetime.now().astimezone().isoformat(timespec="seconds"),
    )
    folder = SweepFolder.open(order.output, scenario.name)
    earlier = folder.earlier(table)
    done = [] if earlier is None else list(earlier.points)
    for values, each in _missing(grid, scenarios, done):
        try:
            point = await _point(each, values, folder, order, model)
        except HarnessError as error:
            if not done:
                raise
            table = msgspec.structs.replace(table, fault=str(error))
            break
        if isinstance(point, str):
            table = msgspec.structs.replace(table, interrupted=point)
            break
        done.append(point)
        folder.save(msgspec.structs.replace(table, points=_in_order(grid, done)))
    table = msgspec.structs.replace(table, points=_in_order(grid, done))
    return table, _written(table, folder)


def _demand_judgeable(scenario: Scenario) -> None:
    demand_judgeable(
        rules_from(scenario.thresholds),
        loop=scenario.outline().loop,
        streaming=wire.endpoint(scenario.endpoint).streaming,
        deadlines=scenario.token_deadlines is not None,
    )


def _missing(
    grid: Grid, scenarios: list[Scenario], done: list[Point]
) -> Iterator[tuple[dict[str, Any], Scenario]]:
    known = [point.values for point in done]
    return (pair for pair in zip(grid, scenarios, strict=True) if pair[0] not in known)


def _in_order(grid: Grid, done: list[Point]) -> tuple[Point, ...]:
    """Those of the grid in its order; an earlier sweep may have had other points."""
    by_place = {i: point for i, values in enumerate(grid, 1) for point in done if point.values == values}
    return tuple(msgspec.structs.replace(point, number=i) for i, point in sorted(by_place.items()))


async def _point(
    scenario: Scenario, values: dict[str, Any], folder: SweepFolder, order: Order, model: str
) -> Point | str:
    """Run it; the signal's name where that was interrupted."""
    path = folder.for_point(1 + len(list(folder.path.glob("points/*"))), values)
    console = Console(stderr=True)
    if not order.quiet:
        console.print(point_words(values), style="bold", highlight=False)
    with progress(console, quiet=order.quiet) as display:
        done = await run(
            scenario,
            **msgspec.structs.asdict(order.address),
            model=model,
            result_dir=path,
            reports=_REPORTS,
            progress=display,
            telemetry=order.telemetry,
            workers=order.workers,
        )
    if done.fault is not None:
        raise done.fault
    if done.result.interrupted is not None:
        return done.result.interrupted
    words = (await drained(order.address.target())).words if order.telemetry else "the server was not asked"
    return _point_of(values, done, str(path.relative_to(folder.path)), words)


def _point_of(values: dict[str, Any], done: Run, folder: str, words: str) -> Point:
    result = done.result
    rates = {rate.name: rate.value for rate in result.rates}
    return Point(
        values=values,
        verdict=result.verdict,
        causes=result.causes,
        num_requests=result.num_requests,
        duration_s=result.duration_s,
        achieved=rates.get("request_rate"),
        goodput=rates.get("goodput"),
        attainment=rates.get("attainment"),
        error_rate=rates.get("error_rate"),
        output_token_rate=rates.get("output_token_rate"),
        latencies=tuple(
            Latency(
                name=name,
                p50=_percentile(done, name, 50.0),
                p95=_percentile(done, name, 95.0),
                p99=_percentile(done, name, 99.0),
            )
            for name in _SHOWN
        ),
        rules=result.rules,
        folder=folder,
        drained=words,
    )


def _percentile(done: Run, name: str, p: float) -> float | None:
    summary = done.result.metric(name)
    found = None if summary is None else summary.percentile(p)
    return None if found is None else found.value


def _written(table: Sweep, folder: SweepFolder) -> tuple[Path, ...]:
    folder.save(table)
    try:
        return (folder.result_path, *write_files(table, folder.path))
    except OSError as error:
        raise ResultFolderError(
            f"{folder.path}: not all of it could be written ({error.strerror}); make room, then call the "
            "same command with --output once more"
        ) from error
