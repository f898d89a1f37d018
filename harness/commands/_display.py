"""What a command prints of a run that is over."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

import click

if TYPE_CHECKING:
    from harness.run import Run

_PLAIN_WIDTH = 110


def display(done: Run) -> None:
    """The summary, and where it is on disk."""
    from rich.console import Console

    from reports.formats.console import show

    console = Console()
    show(done.result, console if console.is_terminal else Console(width=_PLAIN_WIDTH))
    for path in (done.folder.result_path, *done.reports.values()):
        if path.exists():
            click.echo(f"wrote {path}")


def end(done: Run) -> NoReturn:
    """End the command with the run's exit code; say what could not be written."""
    if done.fault is not None:
        click.echo(f"tokenpace: {done.fault}", err=True)
    sys.exit(done.exit_code)
