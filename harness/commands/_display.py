"""What a command prints of what it did."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from rich.console import Console

    from harness.run import Run

T = TypeVar("T")
_PLAIN_WIDTH = 110


def display(done: Run) -> None:
    """The summary of a run, and where it is on disk."""
    from reports.formats.console import show

    paths = (done.folder.result_path, *done.reports.values())
    print_all(show, done.result, (path for path in paths if path.exists()))


def print_all(show: Callable[[T, Console], None], what: T, paths: Iterable[Path] = ()) -> None:
    """Show it as wide as the terminal is, or as wide as is usual elsewhere, and say where it is on disk."""
    from rich.console import Console

    console = Console()
    show(what, console if console.is_terminal else Console(width=_PLAIN_WIDTH))
    for path in paths:
        click.echo(f"wrote {path}")


def end(done: Run) -> NoReturn:
    """End the command with the run's exit code; say what could not be written."""
    if done.fault is not None:
        click.echo(f"tokenpace: {done.fault}", err=True)
    sys.exit(done.exit_code)
