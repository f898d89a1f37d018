"""``tokenpace roofline``: decoding's distance to the limit (``python -m reference_server roofline``)."""

from __future__ import annotations

import click

from harness.commands._server import become_server, passes_on


@click.command(**passes_on, short_help="How near the bundled server's decoding comes to the machine's limit.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> None:
    """Calibrate and measure; options follow (``tokenpace roofline --help``)."""
    become_server("roofline", *arguments)
