"""``tokenpace model``: fetch and list models (the same as ``python -m reference_server model``)."""

from __future__ import annotations

import click

from harness.commands._server import become_server, passes_on


@click.command(**passes_on, short_help="Fetch and list models for the bundled server.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> None:
    """Fetch and list models; sub-commands follow (``tokenpace model --help``)."""
    become_server("model", *arguments)
