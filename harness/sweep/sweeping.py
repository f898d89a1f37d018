"""Runs the points of a grid one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from harness.campaign.folder import CampaignFolder
from harness.campaign.interrupted import Interrupted
from harness.campaign.one_run import run_one, words_of_draining
from harness.errors import HarnessError
from harness.objectives import objectives_of
from harness.preflight import find_model
from harness.secrets import without_secrets
from harness.sweep.folder import SWEEP, point_name
from harness.sweep.grid import as_overrides
from harness.version import __version__
from harness.wall_clock import now_text
from reports.run_row import figures_of
from reports.sweep.table import Point, Sweep
from reports.sweep.words import point_words
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from harness.campaign.order import Order
    from harness.sweep.grid import Grid
    from reports.result import Result
    from scenarios.scenario import Scenario


async def sweep(scenario: Scenario, grid: Grid, order: Order) -> tuple[Sweep, tuple[Path, ...]]:
    """Run every point that isn't on disk; the table, and the files that hold it.

    Raises:
        ScenarioError: The scenario can't be used at one of the points. Nothing was sent.
        HarnessError: The server or the folder can't be used.
    """
    scenarios = [scenario_from(scenario.to_mapping(), as_overrides(values)) for values in grid]
    for each in scenarios:
        objectives_of(each, each.outline())
    target = order.address.target()
    model = await find_model(target, scenario.timeouts, order.model or scenario.model)
    table = Sweep(
        tool_version=__version__,
        scenario_name=scenario.name,
        scenario=without_secrets(scenario.to_mapping()),
        axes=grid.axes,
        base_url=target.url,
        model=model,
        started_at=now_text(),
    )
    folder = CampaignFolder.open(order.output, scenario.name, SWEEP)
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
        if isinstance(point, Interrupted):
            table = msgspec.structs.replace(table, interrupted=point.signal_name)
            break
        done.append(point)
        folder.save(msgspec.structs.replace(table, points=_in_order(grid, done)))
    table = msgspec.structs.replace(table, points=_in_order(grid, done))
    return table, folder.write(table)


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
    scenario: Scenario, values: dict[str, Any], folder: CampaignFolder[Sweep], order: Order, model: str
) -> Point | Interrupted:
    path = folder.place(point_name(folder.num_runs + 1, values))
    done = await run_one(scenario, path, order, model, point_words(values))
    if isinstance(done, Interrupted):
        return done
    words = await words_of_draining(order)
    return _point_of(values, done.result, str(path.relative_to(folder.path)), words)


def _point_of(values: dict[str, Any], result: Result, folder: str, words: str) -> Point:
    return Point(
        values=values,
        verdict=result.verdict,
        causes=result.causes,
        num_requests=result.num_requests,
        duration_s=result.duration_s,
        **figures_of(result),
        folder=folder,
        drained=words,
    )
