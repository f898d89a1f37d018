"""Options that several commands share, and what a command does with errors."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from harness.address import Address

P = ParamSpec("P")
T = TypeVar("T")


def pairs(values: tuple[str, ...], separator: str, option: str, example: str) -> dict[str, str]:
    """The mapping that a repeated option gives.

    Raises:
        click.UsageError: One of the values is no pair. The message doesn't repeat it: it may be a secret.
    """
    found = {}
    for value in values:
        name, found_separator, rest = value.partition(separator)
        if not found_separator or not name.strip():
            raise click.UsageError(f"{option} wants a pair, such as {option} '{example}'")
        found[name.strip()] = rest.strip()
    return found


def target_options(command: Callable[P, T]) -> Callable[P, T]:
    """Whom to send to, and how to reach it."""
    options = (
        click.option(
            "--base-url",
            metavar="URL",
            envvar="OPENAI_BASE_URL",
            help="Address under test [env: OPENAI_BASE_URL].",
        ),
        click.option(
            "--model",
            metavar="NAME",
            help="The model's name; by default the scenario's, else the only one served.",
        ),
        click.option(
            "--api-key",
            metavar="KEY",
            envvar="OPENAI_API_KEY",
            help="Sent as a bearer token [env: OPENAI_API_KEY].",
        ),
        click.option(
            "--header",
            "headers",
            multiple=True,
            metavar="NAME:VALUE",
            help="Sent with every request; may be repeated.",
        ),
        click.option(
            "--ca-file", metavar="FILE", type=click.Path(path_type=Path), help="Trust these certificates."
        ),
        click.option("--insecure", is_flag=True, help="Accept any TLS certificate."),
        click.option(
            "--proxy", metavar="URL", help="Go through this HTTP proxy; HTTP_PROXY and its like are not read."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def address_and_rest(options: Mapping[str, Any]) -> tuple[Address, dict[str, Any]]:
    """The server that ``target_options`` tell of, and the options that are left."""
    from harness.address import Address

    rest = dict(options)
    ca_file, insecure = rest.pop("ca_file"), rest.pop("insecure")
    address = Address(
        base_url=rest.pop("base_url"),
        api_key=rest.pop("api_key"),
        headers=pairs(rest.pop("headers"), ":", "--header", "X-Name: value"),
        verify=False if insecure else str(ca_file) if ca_file else True,
        proxy=rest.pop("proxy"),
    )
    return address, rest


def usage_errors(command: Callable[P, T]) -> Callable[P, T]:
    """Turn what was found before any load into one clear message and exit code 2."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        from harness.errors import HarnessError
        from reports.formats import UnknownReportError
        from scenarios.errors import ScenarioError

        try:
            return command(*args, **kwargs)
        except (HarnessError, ScenarioError, UnknownReportError) as error:
            fail(str(error))

    return wrapped


def fail(message: str) -> NoReturn:
    """Say what is wrong and end with exit code 2."""
    click.echo(f"tokenpace: {message}", err=True)
    raise SystemExit(2)
