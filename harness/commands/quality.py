"""``tokenpace quality``: what a model's quantization costs (``python -m reference_server quality``)."""

from __future__ import annotations

import click

from harness.commands._server import become_server, passes_on


@click.command(**passes_on, short_help="What quantization and precision cost the bundled server in quality.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> None:
    """Measure perplexity and divergence; options follow (``tokenpace quality --help``)."""
    become_server("quality", *arguments)
