"""A search from a scenario and an address to the files that it leaves."""

from __future__ import annotations

import dataclasses
import functools
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec
from rich.console import Console

from harness import wire
from harness.capacity.answer import Question
from harness.capacity.axis import axis_of, expected_s
from harness.capacity.errors import CapacityError
from harness.capacity.folder import SearchFolder
from harness.capacity.running import RunProber
from harness.capacity.search import Limits, Step
from harness.capacity.searching import find_capacity
from harness.preflight import find_model
from harness.result_folder import ResultFolderError
from harness.secrets import without_secrets
from harness.sla.grammar import rules_from
from harness.sla.preconditions import demand_judgeable
from reports.capacity.console import probe_text
from reports.capacity.files import write_files
from reports.capacity.words import load_words
from reports.progress import progress

if TYPE_CHECKING:
    from pathlib import Path

    from harness.address import Address
    from harness.capacity.axis import Axis
    from harness.capacity.plan import Budget
    from harness.sla.rule import Rule
    from reports.capacity.search import Capacity
    from reports.progress import Progress
    from scenarios.scenario import Scenario

_LEAST_SHARE = 1e-3


@dataclasses.dataclass(frozen=True, kw_only=True)
class Inquiry:
    """How a search is to be made.

    Attributes:
        address: The server.
        budget: What may be spent.
        model: As in ``harness.run.run``.
        output: The search's folder; a new one in ``results`` by default.
        workers: As in ``harness.run.run``.
        telemetry: Likewise.
        quiet: Print nothing.
    """

    address: Address
    budget: Budget
    model: str | None = None
    output: Path | None = None
    workers: str = "1"
    telemetry: bool = True
    quiet: bool = False


async def inquire(scenario: Scenario, inquiry: Inquiry) -> tuple[Capacity, tuple[Path, ...]]:
    """Search, or go on with a search; the answer, and the files that hold it.

    Raises:
        ScenarioError: The scenario can't be used. Nothing was sent.
        HarnessError: The options, the server or the folder can't be used.
    """
    inquiry.budget.check()
    rules = rules_from(scenario.thresholds)
    axis = axis_of(scenario, rules)
    demand_judgeable(
        rules,
        loop="closed" if axis.whole else "open",
        streaming=wire.endpoint(scenario.endpoint).streaming,
        deadlines=scenario.token_deadlines is not None,
    )
    target = inquiry.address.target()
    model = await find_model(target, scenario.timeouts, inquiry.model or scenario.model)
    question = _question(scenario, axis, rules, target.url, model)
    folder = SearchFolder.open(inquiry.output, scenario.name)
    earlier = _checked(folder, question)
    prober = RunProber(
        scenario,
        axis,
        folder,
        inquiry.address,
        functools.partial(_progress, inquiry, axis),
        model=model,
        workers=inquiry.workers,
        telemetry=inquiry.telemetry,
    )
    capacity = await find_capacity(
        question if earlier is None else msgspec.structs.replace(question, started_at=earlier.started_at),
        _limits(scenario, axis, inquiry.budget),
        prober,
        earlier=() if earlier is None else earlier.probes,
        on_probe=functools.partial(_on_probe, inquiry, folder),
    )
    return capacity, _written(capacity, folder)


def _question(scenario: Scenario, axis: Axis, rules: tuple[Rule, ...], url: str, model: str) -> Question:
    return Question(
        scenario_name=scenario.name,
        scenario=without_secrets(scenario.to_mapping()),
        key=axis.key,
        unit=axis.unit,
        objectives=tuple(map(str, rules)),
        base_url=url,
        model=model,
        started_at=datetime.now().astimezone().isoformat(timespec="seconds"),
    )


def _checked(folder: SearchFolder, question: Question) -> Capacity | None:
    """What an earlier search found, if it asked the same."""
    earlier = folder.earlier()
    if earlier is None:
        return None
    for name in ("scenario", "base_url", "model", "key"):
        before, now = getattr(earlier, name), getattr(question, name)
        if before != now:
            raise CapacityError(
                f"{folder.path} holds a search with another {name}; give another folder with --output, or "
                "ask the same question to go on"
            )
    return earlier


def _limits(scenario: Scenario, axis: Axis, budget: Budget) -> Limits:
    start = axis.start if budget.start is None else budget.start
    lowest = 1.0 if axis.whole else start * _LEAST_SHARE
    return Limits(
        start=start,
        lowest=lowest if budget.lowest is None else budget.lowest,
        highest=budget.highest,
        whole=axis.whole,
        confidence=scenario.confidence,
        precision=budget.precision,
        max_probes=budget.max_probes,
        max_time_s=budget.max_time_s,
        expect_s=functools.partial(expected_s, scenario, axis),
    )


def _progress(inquiry: Inquiry, axis: Axis, step: Step) -> Progress:
    console = Console(stderr=True)
    if not inquiry.quiet:
        longer = "" if step.length == 1 else f", {step.length:.3g} times as long"
        console.print(f"probe at {load_words(step.load, axis.unit)}{longer}", style="bold", highlight=False)
    return progress(console, quiet=inquiry.quiet)


def _on_probe(inquiry: Inquiry, folder: SearchFolder, capacity: Capacity) -> None:
    folder.save(capacity)
    if not inquiry.quiet:
        Console(stderr=True).print(probe_text(capacity.probes[-1], capacity.unit), soft_wrap=True)


def _written(capacity: Capacity, folder: SearchFolder) -> tuple[Path, ...]:
    folder.save(capacity)
    try:
        return (folder.result_path, *write_files(capacity, folder.path))
    except OSError as error:
        raise ResultFolderError(
            f"{folder.path}: not all of it could be written ({error.strerror}); make room, then call the "
            "same command with --output once more"
        ) from error
