"""The command line: every field of the script is an option."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import click
import msgspec

from reference_server.timetable.durations import Duration, format_duration
from reference_server.timetable.event_loop import LoopError, LoopName
from reference_server.timetable.faults import FaultName
from reference_server.timetable.freeze import Freeze, parse_freeze
from reference_server.timetable.options import Options
from reference_server.timetable.script import Script, ScriptError, make_script
from reference_server.timetable.server import serve

_FAULTS = ", ".join(get_args(FaultName))


def main(args: list[str], program: str) -> int:
    """Run the server until SIGINT or SIGTERM.

    Args:
        args: Without the program's name.
        program: How it was called, for its usage.

    Returns:
        The exit code: 0, 1 if it can't run, 2 for a mistake in the options.
    """
    try:
        result = _command().main(args, prog_name=program, standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    return int(result or 0)


def _command() -> click.Command:
    own = [
        click.Option(["--host"], default="127.0.0.1", show_default=True, help="Address to listen on."),
        click.Option(["--port"], type=click.IntRange(0, 65535), default=8000, help="0 takes a free one."),
        click.Option(["--served-model-name"], default="timetable", help="The one model."),
        click.Option(
            ["--event-loop"],
            type=click.Choice(get_args(LoopName)),
            default="auto",
            help="Of C, built at first use, or asyncio, half as fast.",
        ),
        click.Option(["--seed"], type=int, default=0, help="Of all chance and of the text."),
        click.Option(
            ["--max-num-seqs"], type=click.IntRange(1), help="Requests served at a time; more wait."
        ),
        click.Option(["--freeze", "freezes"], multiple=True, help="Stand still: start+length, as 10s+500ms."),
        click.Option(["--log"], type=click.Path(dir_okay=False, path_type=Path), help="A line per request."),
        click.Option(
            ["--fault", "faults"],
            multiple=True,
            help=f"What goes wrong, name=share, as reset=0.1. One of {_FAULTS}.",
        ),
    ]
    scripted = [_script_option(field) for field in msgspec.structs.fields(Script) if field.name != "faults"]
    return click.Command("timetable", params=[*own, *scripted], callback=_run, help=_HELP)


_HELP = (
    """An OpenAI-compatible server without a model: it sends tokens at scripted times and logs when it did."""
)


def _script_option(field: msgspec.structs.FieldInfo) -> click.Option:
    default = "" if field.default is None else f" [default: {_written(field.default)}]"
    choices = get_args(field.type) if get_origin(field.type) is Literal else ()
    one_of = f" One of {', '.join(choices)}." if choices else ""
    return click.Option(
        [f"--{field.name.replace('_', '-')}"], help=_documented(field.name) + one_of + default
    )


def _documented(name: str) -> str:
    """What the docstring says of a field, so that it is said once."""
    found = re.search(rf"^ {{8}}{name}: (.*)$", Script.__doc__ or "", re.MULTILINE)
    return found[1] if found else ""


def _written(default: object) -> str:
    if isinstance(default, Duration):
        return format_duration(default)
    return str(default).lower() if isinstance(default, bool) else str(default)


def _run(faults: tuple[str, ...], freezes: tuple[str, ...], **given: Any) -> int:  # noqa: ANN401 (click's own)
    own = {
        name: given.pop(name)
        for name in ("event_loop", "host", "port", "served_model_name", "seed", "max_num_seqs", "log")
    }
    fields = {name: text for name, text in given.items() if text is not None}
    try:
        shares = dict(_parse_share(text) for text in faults)
        script = make_script({**fields, "faults": shares} if shares else fields)
        options = Options(**own, script=script, freezes=tuple(map(_parse_freeze, freezes)))
    except ScriptError as error:
        raise click.UsageError(str(error)) from error
    return _serve(options)


def _serve(options: Options) -> int:
    try:
        serve(options)
    except LoopError as error:
        raise click.ClickException(f"{error}; --event-loop asyncio needs none of that.") from error
    except OSError as error:
        raise click.ClickException(f"{error}; choose another --port, --host or --log.") from error
    return 0


def _parse_share(text: str) -> tuple[str, str]:
    name, _, share = text.partition("=")
    return name, share or "1"


def _parse_freeze(text: str) -> Freeze:
    try:
        return parse_freeze(text)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
