"""``tokenpace sweep``: a scenario at every point of a grid of its keys."""

from __future__ import annotations

import sys
from typing import Any

import click

from harness.commands._display import print_all
from harness.commands._options import (
    campaign_options,
    pairs,
    take_order,
    take_scenario,
    target_options,
    usage_errors,
)


@click.command()
@click.argument("scenario", metavar="SCENARIO")
@target_options
@click.option(
    "--over",
    multiple=True,
    metavar="KEY=VALUES",
    help="Vary a key: load.rate=1,2,4; may be repeated for a grid.",
)
@campaign_options
@usage_errors
def command(scenario: str, over: tuple[str, ...], **options: Any) -> None:  # noqa: ANN401 (click's)
    """Run SCENARIO at every combination of the values given, one after the other.

    Each point is a run with a result folder of its own; points that are on disk aren't run again. The exit
    code is that of the worst verdict: 4 if any is invalid, else 1 if any fails, else 3 if any is
    inconclusive, else 0; 2 for a usage error, 129/130/143 if interrupted.
    """
    from harness import event_loop
    from harness.sweep.grid import Grid, parse_axis
    from harness.sweep.sweeping import sweep
    from reports.sweep.console import show

    order = take_order(options)
    loaded = take_scenario(scenario, options, "load.duration=30s")
    grid = Grid(parse_axis(*_split(each)) for each in over)
    table, paths = event_loop.run(sweep(loaded, grid, order))
    if not order.quiet:
        print_all(show, table, paths)
    sys.exit(table.exit_code)


def _split(text: str) -> tuple[str, str]:
    ((key, values),) = pairs((text,), "=", "--over", "load.rate=1,2,4").items()
    return key, values
