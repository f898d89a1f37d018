"""``tokenpace sweep``: a scenario at every point of a grid of its keys."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.commands._options import address_and_rest, fail, pairs, target_options, usage_errors

if TYPE_CHECKING:
    from harness.sweep.sweeping import Order
    from reports.sweep.table import Sweep

_PLAIN_WIDTH = 110


@click.command()
@click.argument("scenario", metavar="SCENARIO")
@target_options
@click.option(
    "--over",
    multiple=True,
    metavar="KEY=VALUES",
    help="Vary a key: load.rate=1,2,4; may be repeated for a grid.",
)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a key at all points: load.duration=30s; may be repeated.",
)
@click.option(
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="The folder of the sweep: new, or that of one to go on with.",
)
@click.option("--workers", default="1", metavar="N", help="Processes that send the load, as in run.")
@click.option("--no-telemetry", is_flag=True, help="Don't read the server's own metrics.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
@usage_errors
def command(
    scenario: str,
    over: tuple[str, ...],
    overrides: tuple[str, ...],
    **options: Any,  # noqa: ANN401 (click's)
) -> None:
    """Run SCENARIO at every combination of the values given, one after the other.

    Each point is a run with a result folder of its own; points that are on disk aren't run again. The exit
    code is that of the worst verdict: 4 if any is invalid, else 1 if any fails, else 3 if any is
    inconclusive, else 0; 2 for a usage error, 130/143 if interrupted.
    """
    from harness import event_loop
    from harness.sweep.grid import Grid, parse_axis
    from harness.sweep.sweeping import sweep
    from scenarios.scenario import load_scenario

    if not options["base_url"]:
        fail("no address under test; give --base-url or set OPENAI_BASE_URL")
    loaded = load_scenario(scenario, pairs(overrides, "=", "--set", "load.duration=30s"))
    grid = Grid(parse_axis(*_split(each)) for each in over)
    table, paths = event_loop.run(sweep(loaded, grid, _order(**options)))
    if not options["quiet"]:
        _display(table, paths)
    sys.exit(table.exit_code)


def _split(text: str) -> tuple[str, str]:
    ((key, values),) = pairs((text,), "=", "--over", "load.rate=1,2,4").items()
    return key, values


def _order(*, no_telemetry: bool, **options: Any) -> Order:  # noqa: ANN401 (click's)
    from harness.sweep.sweeping import Order

    address, rest = address_and_rest(options)
    return Order(address=address, telemetry=not no_telemetry, **rest)


def _display(table: Sweep, paths: tuple[Path, ...]) -> None:
    from rich.console import Console

    from reports.sweep.console import show

    console = Console()
    show(table, console if console.is_terminal else Console(width=_PLAIN_WIDTH))
    for path in paths:
        click.echo(f"wrote {path}")
