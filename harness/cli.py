"""The command ``tokenpace``. Each command is one file of ``harness.commands``, imported when it is called."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import traceback
from typing import TYPE_CHECKING, Any, Final

import click

from harness.version import __version__
from scenarios.extensions import extension_names, load_extension

if TYPE_CHECKING:
    from collections.abc import Iterator

_COMMANDS: Final = "harness.commands"
USAGE_ERROR: Final = 2
INTERRUPTED: Final = 130
INTERNAL_ERROR: Final = 70
NOT_SHOWN: Final = 4
"""A result that nobody could be told is none that holds."""
_FULL_OR_LEFT: Final = (errno.ENOSPC, errno.EDQUOT, errno.EPIPE)


class OutputError(Exception):
    """Standard output can't be written: its device is full, or its reader has left."""


class CommandsByFile(click.Group):
    """A group whose commands are the modules of ``harness.commands``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The files' names."""
        del ctx
        return list(extension_names(_COMMANDS))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The ``command`` of the file of that name."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command = load_extension(_COMMANDS, cmd_name).command
        assert isinstance(command, click.Command)
        return command

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:  # noqa: ANN401 (click's)
        """Read the command line; ``--help`` is printed here."""
        with _all_written():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        with _all_written():
            return super().invoke(ctx)


@contextlib.contextmanager
def _all_written() -> Iterator[None]:
    """See that all that is said meanwhile reaches standard output.

    Raises:
        OutputError: It doesn't.
    """
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.filename is None and error.errno in _FULL_OR_LEFT:
            raise OutputError(f"standard output can't be written ({error.strerror})") from error
        raise


@click.group(cls=CommandsByFile, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tokenpace")
def cli() -> None:
    """Load-test language-model servers and verify their SLAs."""


def main() -> None:
    """Entry point: 0 pass, 1 fail, 2 usage error, 3 inconclusive, 4 invalid, 129/130/143 interrupted.

    A fault of tokenpace itself ends with 70, so that nobody takes it for a missed objective.
    """
    try:
        code = cli.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = USAGE_ERROR
    except OutputError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still buffered goes there
        click.echo(f"tokenpace: {error}", err=True)
        code = NOT_SHOWN
    except (click.Abort, KeyboardInterrupt):
        click.echo("tokenpace: interrupted", err=True)
        code = INTERRUPTED
    except Exception:  # noqa: BLE001 (the last line of defence; shown whole)
        traceback.print_exc()
        click.echo("tokenpace: a fault of tokenpace itself, please report it with the lines above", err=True)
        code = INTERNAL_ERROR
    sys.exit(code)
