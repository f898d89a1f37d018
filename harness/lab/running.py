"""Runs an experiment."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

import yaml

from harness.address import Address
from harness.campaign.folder import CampaignFolder, Kind
from harness.campaign.interrupted import Interrupted
from harness.campaign.one_run import run_one
from harness.campaign.order import Order
from harness.lab.concluding import conclude
from harness.lab.errors import LabError
from harness.own_server import serving
from harness.preflight import find_model
from reports.lab.files import write_files
from reports.lab.table import Lab, load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from harness.lab.experiment import Experiment

LAB: Final = Kind[Lab](
    name="lab", noun="experiment", runs="runs", same=("experiment",), load=load, write_files=write_files
)
Runs = dict[tuple[int, str], list["Path"]]
"""Result folders by number of the point and variant."""


async def run_experiment(
    experiment: Experiment, output: Path | None, *, quiet: bool
) -> tuple[Lab, tuple[Path, ...]]:
    """Run it whole; what it shows, and the files that hold it.

    Raises:
        LabError: The folder holds an experiment already.
        ScenarioError: The scenario can't be sent.
        HarnessError: A server doesn't start or is gone, or the folder can't be written.
    """
    folder = CampaignFolder.open(output, experiment.name, LAB)
    if folder.result_path.exists():
        raise LabError(f"{folder.path} holds an experiment already; give another folder with --output")
    runs: Runs = {}
    interrupted = None
    for number, variant in turns(experiment):
        if interrupted is None:
            interrupted = await _one_turn(experiment, number, variant, runs, folder, quiet=quiet)
    lab = conclude(experiment, runs, folder.path, interrupted)
    return lab, folder.write(lab)


def turns(experiment: Experiment) -> Iterator[tuple[int, str]]:
    """Number of the repeat and variant, in alternating order: what drifts meets all alike."""
    for number in range(1, experiment.repeats + 1):
        names = list(experiment.variants)
        yield from ((number, variant) for variant in (names if number % 2 else reversed(names)))


async def _one_turn(
    experiment: Experiment,
    number: int,
    variant: str,
    runs: Runs,
    folder: CampaignFolder[Lab],
    *,
    quiet: bool,
) -> str | None:
    """Serve a variant and send it all points; the signal that ended it, if one did."""
    settings = folder.path / f"{variant}.yaml"
    settings.write_text(yaml.safe_dump(experiment.settings(variant), sort_keys=False), "utf-8")
    with serving(shlex.join([experiment.model, "--config", str(settings)])) as url:
        address = Address(base_url=url, api_key=None, headers={}, verify=True, proxy=None)
        order = Order(address=address, quiet=quiet)
        for place, point in enumerate(experiment.points):
            scenario = experiment.scenario_at(point)
            model = await find_model(address.target(), scenario.timeouts, scenario.model)
            path = folder.place(f"{number:02d}-{variant}-{place + 1}")
            head = f"{variant}, repeat {number} of {experiment.repeats}, {_words(point)}"
            done = await run_one(scenario, path, order, model, head)
            if isinstance(done, Interrupted):
                return done.signal_name
            runs.setdefault((place, variant), []).append(path)
    return None


def _words(point: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in point.items()) or "the only point"
