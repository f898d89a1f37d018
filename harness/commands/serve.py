"""``tokenpace serve``: start the bundled server (the same as ``python -m reference_server serve``)."""

from __future__ import annotations

import click

from harness.commands._server import become_server, passes_on


@click.command(**passes_on, short_help="Start the bundled OpenAI-compatible server.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> None:
    """Start the bundled server; its own options follow (``tokenpace serve --help``)."""
    become_server("serve", *arguments)
