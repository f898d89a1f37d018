"""The server's command line, a command each file. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

import importlib.metadata
import sys

import click

from reference_server.commands.model import model
from reference_server.commands.quality import quality
from reference_server.commands.roofline import roofline
from reference_server.commands.serve import serve

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


@click.group(context_settings=_SETTINGS)
@click.version_option(importlib.metadata.version("tokenpace"), prog_name="tokenpace reference server")
def cli() -> None:
    """The bundled OpenAI-compatible inference server."""


cli.add_command(serve)
cli.add_command(model)
cli.add_command(roofline)
cli.add_command(quality)


def main() -> None:
    """Entry point: 0 after an orderly stop, 1 if something failed, 2 for bad usage, 128 + signal."""
    try:
        sys.exit(cli.main(prog_name="tokenpace"))
    except ModuleNotFoundError as error:
        click.echo(f"Error: {error.name} is missing; install the server: tokenpace[server]", err=True)
        sys.exit(2)
