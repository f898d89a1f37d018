"""Options that several commands share, and what a command does with errors."""

from __future__ import annotations

import errno
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.address import Address
    from harness.campaign.order import Order
    from scenarios.scenario import Scenario

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


def options(*each: Callable[[Callable[P, T]], Callable[P, T]]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Several options as one decorator, in the order in which help lists them."""

    def decorate(command: Callable[P, T]) -> Callable[P, T]:
        for option in reversed(each):
            command = option(command)
        return command

    return decorate


def target_options(command: Callable[P, T]) -> Callable[P, T]:
    """Whom to send to, and how to reach it."""
    return options(
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
    )(command)


def campaign_options(command: Callable[P, T]) -> Callable[P, T]:
    """What commands that make several runs have in common."""
    return options(
        click.option(
            "--set",
            "overrides",
            multiple=True,
            metavar="KEY=VALUE",
            help="Change a key in all runs: load.duration=30s; may be repeated.",
        ),
        click.option(
            "--output",
            metavar="DIR",
            type=click.Path(path_type=Path),
            help="The folder of all runs: new, or that of an earlier call to go on with.",
        ),
        click.option("--workers", default="1", metavar="N", help="Processes that send the load, as in run."),
        click.option("--no-telemetry", is_flag=True, help="Don't read the server's own metrics."),
        click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors."),
    )(command)


def take_address(given: dict[str, Any]) -> Address:
    """The server that ``target_options`` tell of; they are taken out of ``given``, but for the model."""
    from harness.address import Address

    if not given["base_url"]:
        fail("no address under test; give --base-url or set OPENAI_BASE_URL")
    ca_file, insecure = given.pop("ca_file"), given.pop("insecure")
    return Address(
        base_url=given.pop("base_url"),
        api_key=given.pop("api_key"),
        headers=pairs(given.pop("headers"), ":", "--header", "X-Name: value"),
        verify=False if insecure else str(ca_file) if ca_file else True,
        proxy=given.pop("proxy"),
    )


def take_order(given: dict[str, Any]) -> Order:
    """How the runs are to be made by ``target_options`` and ``campaign_options``, which are taken out."""
    from harness.campaign.order import Order

    return Order(
        address=take_address(given),
        telemetry=not given.pop("no_telemetry"),
        **{name: given.pop(name) for name in ("model", "output", "workers", "quiet")},
    )


def take_scenario(name: str, given: dict[str, Any], example: str) -> Scenario:
    """The scenario of that name with the changes of ``--set``, which are taken out.

    Raises:
        ScenarioError: It can't be read.
    """
    from harness.objectives import faults_in
    from scenarios.scenario import load_scenario

    return load_scenario(name, pairs(given.pop("overrides"), "=", "--set", example), faults_in)


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
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise
            fail(f"'{str(error.filename)[:40]}…' is longer than a file's name may be; give a shorter one")

    return wrapped


def fail(message: str) -> NoReturn:
    """Say what is wrong and end with exit code 2."""
    click.echo(f"tokenpace: {message}", err=True)
    raise SystemExit(2)
