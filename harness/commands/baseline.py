"""``tokenpace baseline``: runs kept under a name, small enough to be committed."""

from __future__ import annotations

from pathlib import Path

import click

from harness.commands._options import fail, usage_errors

_folder = click.option(
    "--folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Where baselines are; .tokenpace/baselines by default.",
)


@click.group()
def command() -> None:
    """Keep runs under a name, to compare later ones with; the folder can be committed."""


@command.command()
@click.argument("name")
@click.argument("result")
@_folder
@usage_errors
def save(name: str, result: str, folder: Path | None) -> None:
    """Keep RESULT (a result folder, or several runs of one kind with commas between) as NAME."""
    from harness.comparison.baselines import Baselines
    from harness.comparison.sources import holds_a_run, side_of

    store = Baselines(folder)
    if holds_a_run(name):
        fail(f"'{name}' is a result folder here: compare could not tell which is meant; give another name")
    written = store.save(name, side_of(result, store))
    size = sum(path.stat().st_size for path in written.iterdir())
    click.echo(f"wrote {written}: {size / 1000:,.0f} kB")


@command.command("list")
@_folder
@usage_errors
def list_(folder: Path | None) -> None:
    """List the baselines that there are. Exit code: 2 if one of them can't be read, else 0."""
    from harness.comparison.baselines import Baselines

    store = Baselines(folder)
    faults: list[Exception] = []
    for name, page, size in store.pages(faults.append):
        runs = f"{len(page.started_at)} run{'' if len(page.started_at) == 1 else 's'}"
        click.echo(
            f"{name:20} {page.scenario} on {page.model}, {runs} of {page.num_requests:,} requests, "
            f"{page.started_at[-1]}, {size / 1000:,.0f} kB"
        )
    if not store.names():
        click.echo(f"none in {store.folder}; keep one with: tokenpace baseline save NAME RESULT", err=True)
    if faults:
        fail("\ntokenpace: ".join(map(str, faults)))
