"""What a command line of Locust asks the harness to run."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from harness.address import Address
from harness.commands._options import pairs
from harness.comparison.baselines import Baselines
from harness.comparison.sources import side_of
from harness.errors import HarnessError
from harness.locust_program import handed_over
from harness.objectives import faults_in
from scenarios.scenario import Scenario, load_scenario, scenario_from

if TYPE_CHECKING:
    from argparse import Namespace

    from harness.comparison.side import Side

_KEPT_OF_LOAD: Final = ("warmup", "warmup_requests", "grace")
_ASKED_BY_TASKS: Final = {"prompts": {"source": "text", "text": "-"}, "tokenizer": "words"}


class OrderError(HarnessError):
    """The command line can't be used. The message names the option and the remedy."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Order:
    """A run.

    Attributes:
        scenario: What is sent, and the objectives.
        address: The server under test.
        model: The model's name; None for the scenario's, else the only one that is served.
        output: The result folder; None for one of its own under ``results``.
        reports: Names of the reports to write; none for all.
        telemetry: Whether to read the server's own metrics meanwhile.
        baseline: What to hold the run against.
    """

    scenario: Scenario
    address: Address
    model: str | None
    output: Path | None
    reports: tuple[str, ...]
    telemetry: bool
    baseline: Side | None


def order_of(options: Namespace, host: str | None, *, own_load: bool) -> Order:
    """The run that Locust's options describe.

    Args:
        options: Locust's, with those of ``harness.locust.options``.
        host: The server's address, as Locust knows it.
        own_load: Whether the scenario's own load is sent. Else tasks ask, and it says how that is judged.

    Raises:
        OrderError: Something is missing, or can't be read.
        ScenarioError: The scenario can't be used.
        HarnessError: The baseline can't be read.
    """
    given = handed_over()
    return Order(
        scenario=_scenario(options, own_load=own_load) if given is None else scenario_from(given.scenario),
        address=_address(options, host) if given is None else given.address,
        model=options.model or None,
        output=Path(options.output) if options.output else None,
        reports=tuple(options.report),
        telemetry=not options.no_telemetry,
        baseline=side_of(options.baseline, Baselines()) if options.baseline else None,
    )


def _address(options: Namespace, host: str | None) -> Address:
    base_url = host or os.environ.get("OPENAI_BASE_URL")
    if not base_url:
        raise OrderError("no address under test; give --host or set OPENAI_BASE_URL")
    return Address(
        base_url=base_url,
        api_key=options.api_key or os.environ.get("OPENAI_API_KEY") or None,
        headers=_pairs(options.header, ":", "--header", "X-Name: value"),
        verify=False if options.insecure else options.ca_file or True,
        proxy=None,
    )


def _scenario(options: Namespace, *, own_load: bool) -> Scenario:
    overrides = _pairs(options.set, "=", "--set", "load.rate=5")
    if options.rate and not own_load:
        raise OrderError("--rate: users with tasks of their own make the load; leave it out")
    if options.rate:
        overrides["load.rate"] = options.rate
    if own_load:
        if not options.scenario:
            raise OrderError("no scenario; give --scenario FILE, or a name that 'tokenpace scenarios' lists")
        return load_scenario(options.scenario, overrides, faults_in)
    if not options.scenario:
        return scenario_from(_without_load({"name": "locust"}), overrides)
    return scenario_from(_without_load(load_scenario(options.scenario, overrides, faults_in).to_mapping()))


def _without_load(data: dict[str, Any]) -> dict[str, Any]:
    """A scenario whose requests others ask for: how long it lasts and what is asked is not its affair."""
    kept = {key: value for key, value in data.get("load", {}).items() if key in _KEPT_OF_LOAD}
    load = {"arrivals": "closed", "concurrency": 1, "duration": "1000h", **kept}
    return {**data, **_ASKED_BY_TASKS, "load": load}


def _pairs(values: list[str], separator: str, option: str, example: str) -> dict[str, str]:
    try:
        return pairs(tuple(values), separator, option, example)
    except click.UsageError as error:
        raise OrderError(error.message) from error
