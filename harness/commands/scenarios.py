"""``tokenpace scenarios``: the ready scenarios of the library."""

from __future__ import annotations

import click


@click.command()
@click.argument("name", required=False)
def command(name: str | None) -> None:
    """List the ready scenarios, or print the file of the one called NAME to copy and change."""
    from scenarios import library
    from scenarios.errors import ScenarioError
    from scenarios.scenario import load_scenario

    if name is None:
        for each in library.names():
            click.echo(f"{each:14} {load_scenario(each).description}")
        return
    try:
        click.echo(library.find(name).read_text(encoding="utf-8"), nl=False)
    except ScenarioError as error:
        raise click.UsageError(str(error)) from error
