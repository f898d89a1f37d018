"""``tokenpace capacity``: the highest load at which a scenario's objectives hold."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from harness.commands._display import print_all
from harness.commands._options import (
    campaign_options,
    take_order,
    take_scenario,
    target_options,
    usage_errors,
)

if TYPE_CHECKING:
    from harness.capacity.budget import Budget


@click.command()
@click.argument("scenario", metavar="SCENARIO")
@target_options
@click.option("--start", type=float, metavar="LOAD", help="The first load; by default the scenario's.")
@click.option("--min", "lowest", type=float, metavar="LOAD", help="Try no smaller load.")
@click.option("--max", "highest", type=float, metavar="LOAD", help="Try no larger load.")
@click.option(
    "--precision",
    metavar="SHARE",
    default="10%",
    show_default=True,
    help="Know enough when the interval is this narrow.",
)
@click.option(
    "--max-probes", type=int, metavar="N", default=16, show_default=True, help="So many runs at most."
)
@click.option(
    "--max-time",
    metavar="DURATION",
    default="30m",
    show_default=True,
    help="Begin no probe that would end later than this.",
)
@campaign_options
@usage_errors
def command(scenario: str, **options: Any) -> None:  # noqa: ANN401 (click's)
    """Find the highest rate (open loop) or number of slots (closed loop) at which SCENARIO's objectives hold.

    The load is doubled or halved, then narrowed down; each probe is a run of the scenario with a result
    folder of its own. A probe that decides nothing is repeated longer and never counted for either side.
    The answer has an interval, at the scenario's confidence. Exit code: 0 found, 1 no load in the range
    will do, 2 usage error, 3 budget spent before, 4 the client was the limit, 129/130/143 interrupted.
    """
    from harness import event_loop
    from harness.capacity.inquiry import inquire
    from reports.capacity.console import show

    order = take_order(options)
    loaded = take_scenario(scenario, options, "load.duration=30s")
    capacity, paths = event_loop.run(inquire(loaded, _budget(**options), order))
    if not order.quiet:
        print_all(show, capacity, paths)
    sys.exit(capacity.exit_code)


def _budget(*, precision: str, max_time: str, **loads: Any) -> Budget:  # noqa: ANN401 (click's)
    from harness.capacity.budget import Budget
    from scenarios.durations import parse_duration
    from scenarios.errors import ScenarioError
    from scenarios.rates import parse_share

    try:
        return Budget(precision=parse_share(precision), max_time_s=parse_duration(max_time) / 1e9, **loads)
    except (ScenarioError, ValueError) as error:
        raise click.UsageError(f"--precision, --max-time: {error}") from error
