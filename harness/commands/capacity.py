"""``tokenpace capacity``: the highest load at which a scenario's objectives hold."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.commands._options import address_and_rest, fail, pairs, target_options, usage_errors

if TYPE_CHECKING:
    from harness.capacity.inquiry import Inquiry
    from harness.capacity.plan import Budget
    from reports.capacity.search import Capacity

_PLAIN_WIDTH = 110


@click.command()
@click.argument("scenario", metavar="SCENARIO")
@target_options
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a key: load.duration=30s; may be repeated.",
)
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
@click.option(
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="The folder of the search: new, or that of one to go on with.",
)
@click.option("--workers", default="1", metavar="N", help="Processes that send the load, as in run.")
@click.option("--no-telemetry", is_flag=True, help="Don't read the server's own metrics.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
@usage_errors
def command(scenario: str, **options: Any) -> None:  # noqa: ANN401 (click's)
    """Find the highest rate (open loop) or number of slots (closed loop) at which SCENARIO's objectives hold.

    The load is doubled or halved, then narrowed down; each probe is a run of the scenario with a result
    folder of its own. A probe that decides nothing is repeated longer and never counted for either side.
    The answer has an interval, at the scenario's confidence. Exit code: 0 found, 1 no load in the range
    will do, 2 usage error, 3 budget spent before, 4 the client was the limit, 130/143 interrupted.
    """
    from harness import event_loop
    from harness.capacity.inquiry import inquire
    from scenarios.scenario import load_scenario

    if not options["base_url"]:
        fail("no address under test; give --base-url or set OPENAI_BASE_URL")
    loaded = load_scenario(scenario, pairs(options.pop("overrides"), "=", "--set", "load.duration=30s"))
    capacity, paths = event_loop.run(inquire(loaded, _inquiry(**options)))
    if not options["quiet"]:
        _display(capacity, paths)
    sys.exit(capacity.exit_code)


def _inquiry(
    *,
    output: Path | None,
    workers: str,
    model: str | None,
    no_telemetry: bool,
    quiet: bool,
    **options: Any,  # noqa: ANN401 (click's)
) -> Inquiry:
    from harness.capacity.inquiry import Inquiry

    address, budget = address_and_rest(options)
    return Inquiry(
        address=address,
        budget=_budget(**budget),
        model=model,
        output=output,
        workers=workers,
        telemetry=not no_telemetry,
        quiet=quiet,
    )


def _budget(*, precision: str, max_time: str, **loads: Any) -> Budget:  # noqa: ANN401 (click's)
    from harness.capacity.plan import Budget
    from scenarios.durations import parse_duration
    from scenarios.errors import ScenarioError
    from scenarios.rates import parse_share

    try:
        return Budget(precision=parse_share(precision), max_time_s=parse_duration(max_time) / 1e9, **loads)
    except (ScenarioError, ValueError) as error:
        raise click.UsageError(f"--precision, --max-time: {error}") from error


def _display(capacity: Capacity, paths: tuple[Path, ...]) -> None:
    from rich.console import Console

    from reports.capacity.console import show

    console = Console()
    show(capacity, console if console.is_terminal else Console(width=_PLAIN_WIDTH))
    for path in paths:
        click.echo(f"wrote {path}")
