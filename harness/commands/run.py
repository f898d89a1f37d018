"""``tokenpace run``: send a scenario, judge it, leave a result folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from harness.commands._display import display, end
from harness.commands._options import take_address, take_scenario, target_options, usage_errors

if TYPE_CHECKING:
    from harness.address import Address
    from harness.run import Run
    from scenarios.scenario import Scenario


@click.command()
@click.argument("scenario", metavar="SCENARIO")
@target_options
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a key: load.rate=5; may be repeated.",
)
@click.option(
    "--output", metavar="DIR", type=click.Path(path_type=Path), help="The result folder, new or empty."
)
@click.option(
    "--report", "reports", multiple=True, metavar="NAME", help="Write only this report; may be repeated."
)
@click.option(
    "--workers",
    default="1",
    metavar="N",
    help="Processes that send the load; auto: one for each CPU but one. By default 1.",
)
@click.option(
    "--baseline",
    "baseline_name",
    metavar="NAME",
    help="Compare with this baseline or result folder; objectives may be relative to it.",
)
@click.option(
    "--until-decided",
    is_flag=True,
    help="End as soon as every objective is decided; load.duration and load.requests are the most.",
)
@click.option(
    "--engine",
    type=click.Choice(("tokenpace", "locust")),
    default="tokenpace",
    help="Who sends: this process and its workers, or a headless Locust.",
)
@click.option("--no-telemetry", is_flag=True, help="Don't read the server's own metrics meanwhile.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
@usage_errors
def command(scenario: str, **options: Any) -> None:  # noqa: ANN401 (click's)
    """Send the load of SCENARIO (a file, or a name that ``tokenpace scenarios`` lists) and judge it.

    Exit code: 0 pass, 1 fail, 2 usage error, 3 inconclusive, 4 invalid, 129/130/143 interrupted.
    """
    address = take_address(options)
    if options.pop("until_decided"):
        options["overrides"] += ("load.stop.decided=true",)
    loaded = take_scenario(scenario, options, "load.rate=5")
    if options.pop("engine") == "locust":
        _become_locust(loaded, address, **options)
    done = _run(loaded, address, **options)
    if not options["quiet"]:
        display(done)
    end(done)


def _become_locust(
    scenario: Scenario,
    address: Address,
    *,
    baseline_name: str | None,
    no_telemetry: bool,
    **options: Any,  # noqa: ANN401 (click's)
) -> NoReturn:
    from harness.locust_program import become_locust

    become_locust(scenario, address, baseline=baseline_name, telemetry=not no_telemetry, **options)


def _run(
    scenario: Scenario,
    address: Address,
    *,
    model: str | None,
    output: Path | None,
    reports: tuple[str, ...],
    no_telemetry: bool,
    workers: str,
    baseline_name: str | None,
    quiet: bool,
) -> Run:
    import msgspec
    from rich.console import Console

    from harness import event_loop
    from harness.comparison.baselines import Baselines
    from harness.comparison.sources import side_of
    from harness.run import run
    from reports.progress import progress

    baseline = None if baseline_name is None else side_of(baseline_name, Baselines())
    with progress(Console(stderr=True), quiet=quiet) as display:
        return event_loop.run(
            run(
                scenario,
                **msgspec.structs.asdict(address),
                model=model,
                result_dir=output,
                reports=reports or None,
                progress=display,
                telemetry=not no_telemetry,
                workers=workers,
                baseline=baseline,
            )
        )
