"""The command ``tokenpace``. Each command is one file of ``harness.commands``, imported when it is called."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import traceback
from typing import Final

import click

from harness import __version__, commands

USAGE_ERROR: Final = 2
INTERRUPTED: Final = 130
INTERNAL_ERROR: Final = 70


class CommandsByFile(click.Group):
    """A group whose commands are the modules of ``harness.commands``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The files' names."""
        del ctx
        return sorted(
            module.name for module in pkgutil.iter_modules(commands.__path__) if module.name[0] != "_"
        )

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The ``command`` of the file of that name."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command = importlib.import_module(f"harness.commands.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command


@click.group(cls=CommandsByFile, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tokenpace")
def cli() -> None:
    """Load-test language-model servers and verify their SLAs."""


def main() -> None:
    """Entry point: 0 pass, 1 fail, 2 usage error, 3 inconclusive, 4 invalid, 130/143 interrupted.

    A fault of tokenpace itself ends with 70, so that nobody takes it for a missed objective.
    """
    try:
        code = cli.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = USAGE_ERROR
    except (click.Abort, KeyboardInterrupt):
        click.echo("tokenpace: interrupted", err=True)
        code = INTERRUPTED
    except Exception:  # noqa: BLE001 (the last line of defence; shown whole)
        traceback.print_exc()
        click.echo("tokenpace: a fault of tokenpace itself, please report it with the lines above", err=True)
        code = INTERNAL_ERROR
    sys.exit(code)
