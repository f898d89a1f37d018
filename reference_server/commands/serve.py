"""``serve``: start the server. Its options are made from the fields of the configuration."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import click

from reference_server.config import ServerConfig
from reference_server.models.errors import ModelError
from reference_server.settings import ENV_PREFIX, ConfigError, flag, load_config, unknown_flag

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo


class _ServeCommand(click.Command):
    """Takes underscores for dashes, refuses unknown options by name, gives way to the timetable server."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, or hand all over."""
        rest = _without_engine(args)
        if rest is not None:
            from reference_server import timetable

            ctx.exit(timetable.main(rest, f"{ctx.command_path} --engine timetable"))
        try:
            return super().parse_args(ctx, [_dashed(argument) for argument in args])
        except click.NoSuchOption as error:
            raise click.UsageError(unknown_flag(error.option_name), ctx) from None


def _dashed(argument: str) -> str:
    """``--max_num_seqs=8`` as ``--max-num-seqs=8``."""
    name, equals, value = argument.partition("=")
    return name.replace("_", "-") + equals + value if argument.startswith("--") else argument


def _without_engine(args: list[str]) -> list[str] | None:
    """The other arguments, if ``--engine timetable`` is among them."""
    for position, argument in enumerate(args):
        if argument == "--engine=timetable":
            return args[:position] + args[position + 1 :]
        if args[position : position + 2] == ["--engine", "timetable"]:
            return args[:position] + args[position + 2 :]
    return None


def _option(name: str, field: FieldInfo) -> click.Option:
    """The option of a setting. Values are checked with those of the file, so here they are all text."""
    is_flag = field.annotation is bool
    declaration = f"{flag(name)}/--no-{flag(name)[2:]}" if is_flag else flag(name)
    return click.Option(
        [declaration, name],
        default=None,
        type=bool if is_flag else str,
        metavar=None if is_flag else _metavar(field.annotation),
        help=f"{field.description}{_default(field)}",
    )


def _metavar(annotation: Any) -> str:  # noqa: ANN401  # a type
    kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
    if get_origin(annotation) is Literal:
        return f"[{'|'.join(kinds)}]"
    kind = kinds[0] if len(kinds) == 1 else annotation
    return {int: "INTEGER", float: "NUMBER", dict[str, Any]: "JSON"}.get(kind, "TEXT")


def _default(field: FieldInfo) -> str:
    if field.default is None or field.default == ():
        return ""
    shown = (
        {True: "on", False: "off"}.get(field.default, field.default)
        if field.annotation is bool
        else field.default
    )
    return f"  [default: {shown}]"


def _serve(model_argument: str | None, config: Path | None, **flags: Any) -> None:  # noqa: ANN401  # option values
    if model_argument is not None:
        if flags["model"] not in (None, model_argument):
            raise click.UsageError(f"the model is given twice: {model_argument} and --model {flags['model']}")
        flags["model"] = model_argument
    try:
        settings = load_config(config, os.environ, flags)
        _check_servable(settings)
    except (ConfigError, ModelError) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)
    click.echo(f"settings: {settings.describe()}", err=True)
    # Heavy: imports the web framework.
    from reference_server.api.server import serve as run

    sys.exit(run(settings))


def _check_servable(settings: ServerConfig) -> None:
    """Refuse what would fail only after the slow imports."""
    if settings.engine == "timetable":
        raise ConfigError(
            "the timetable has options of its own, so it is chosen on the command line only: "
            "tokenpace serve --engine timetable --help"
        )
    settings.to_engine_config()


serve = _ServeCommand(
    "serve",
    callback=_serve,
    help=f"""Serve MODEL (by default {ServerConfig.model_fields["model"].default}) until SIGTERM or SIGINT.

    Every option can also stand in a YAML file (--config), as NAME: VALUE, or in the environment, as
    {ENV_PREFIX}NAME. The command line wins over the environment, and that over the file.""",
    short_help="Start the server.",
    params=[
        click.Argument(["model_argument"], required=False, metavar="[MODEL]"),
        click.Option(
            ["--config"], type=click.Path(path_type=Path), metavar="FILE", help="YAML file with settings."
        ),
        *(_option(name, field) for name, field in ServerConfig.model_fields.items()),
    ],
)
