"""An experiment, as its file says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from harness.comparison.figure import figures_of, matching
from harness.errors import HarnessError
from harness.lab.errors import LabError
from harness.sweep.grid import Grid, as_overrides
from reports.sweep.table import Axis
from scenarios.documents import Document, read_document
from scenarios.errors import ScenarioError
from scenarios.overrides import override
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    from harness.comparison.figure import Figure
    from scenarios.scenario import Scenario

MAX_RUNS: Final = 500
WORKLOAD: Final = "workload"
"""The key of a point that names a workload."""


class Claim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a variant must show against the first one, or against itself at the first point.

    Attributes:
        variant: Which.
        figure: One of the experiment's, as ``compare`` names it: ``goodput``, ``e2e mean``.
        at_least: The change from the first variant to it, as a factor (of shares a difference).
        at_most: Likewise, from above.
        at: Values of the points that it is about; all points by default.
        growth: Against itself at the first point, whose values others vary.
    """

    variant: str
    figure: str
    at_least: float | None = None
    at_most: float | None = None
    at: dict[str, Any] = {}
    growth: bool = False

    def is_about(self, point: dict[str, Any]) -> bool:
        """Whether it is about that point."""
        return all(point.get(key) == value for key, value in self.at.items())


class Costs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of the model of costs by which a prediction is made.

    Attributes:
        free_rows: A step takes as long as one of so many rows, however few it has: reading the weights hides
            their computing.
    """

    free_rows: float


class Quick(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What ``--quick`` changes.

    Attributes:
        repeats: Instead of the others.
        scenario: Keys of the scenario, with dots, and their values.
        over: Axes instead of those of the same keys.
    """

    repeats: int = 1
    scenario: dict[str, Any] = {}
    over: dict[str, list[Any]] = {}


class Experiment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Variants of the server under one scenario.

    Attributes:
        schema: Of this structure: 1.
        name: Of the experiment.
        question: What it asks, in a sentence.
        prediction: What is expected and why, in a few.
        model: As ``tokenpace serve`` takes it.
        server: Settings that all variants have.
        variants: Settings of each; the first is what the others are compared with.
        scenario: The keys of a scenario file.
        workloads: Keys of the scenario, with dots, of each by its name; each is a point of its own.
        over: Keys of the scenario, with dots, and their values.
        figures: What is compared: ``e2e mean``, ``goodput``.
        claims: What is judged.
        costs: For numbers of the prediction; None for words alone.
        repeats: Runs of each variant at each point.
        quick: For a short look.
    """

    schema: Literal[1]
    name: str
    question: str
    prediction: str
    model: str = "smollm2-135m"
    server: dict[str, Any] = {}
    variants: dict[str, dict[str, Any]]
    scenario: dict[str, Any]
    workloads: dict[str, dict[str, Any]] = {}
    over: dict[str, list[Any]] = {}
    figures: list[str]
    claims: list[Claim] = []
    costs: Costs | None = None
    repeats: int = 3
    quick: Quick = Quick()

    @property
    def points(self) -> list[dict[str, Any]]:
        """Values of the keys that are varied, ``workload`` among them; one point without any."""
        varied = {WORKLOAD: list(self.workloads)} if self.workloads else {}
        axes = [Axis(key=key, values=tuple(values)) for key, values in (varied | self.over).items()]
        return list(Grid(axes)) if axes else [{}]

    @property
    def grows(self) -> bool:
        """Whether later points are more of the first one, and no other kind of load."""
        return len(self.over) == 1 and not self.workloads

    @property
    def baseline(self) -> str:
        """The variant that others are compared with."""
        return next(iter(self.variants))

    @property
    def compared(self) -> tuple[Figure, ...]:
        """The figures."""
        return figures_of(self.figures)

    def settings(self, variant: str) -> dict[str, Any]:
        """Of the server."""
        return self.server | self.variants[variant]

    def scenario_at(self, point: dict[str, Any]) -> Scenario:
        """What is sent at a point.

        Raises:
            ScenarioError: It can't be used.
        """
        named = self.workloads[point[WORKLOAD]] if WORKLOAD in point else {}
        keys = named | {key: value for key, value in point.items() if key != WORKLOAD}
        return scenario_from({"schema": 1, "name": self.name} | self.scenario, as_overrides(keys))

    def shortened(self) -> Experiment:
        """As ``--quick`` has it."""
        over = {key: self.quick.over.get(key, values) for key, values in self.over.items()}
        scenario = override(
            Document(self.scenario, "scenario", {}, Path()), as_overrides(self.quick.scenario)
        )
        return msgspec.structs.replace(
            self, over=over, scenario=dict(scenario.data), repeats=self.quick.repeats
        )


def load_experiment(path: Path, *, quick: bool = False, model: str | None = None) -> Experiment:
    """Read an experiment and check all that can be checked before a server is started.

    Args:
        path: Its file.
        quick: As ``--quick`` has it.
        model: Instead of the file's.

    Raises:
        LabError: It can't be used.
    """
    try:
        data = read_document(path).data
        found = msgspec.convert(dict(data), Experiment)
        found = msgspec.structs.replace(found, model=model or found.model)
        found = found.shortened() if quick else found
        for point in found.points:
            found.scenario_at(point)
        fault = _fault(found)
    except (msgspec.ValidationError, ScenarioError, HarnessError) as error:
        raise LabError(f"{path}: {error}") from error
    if fault:
        raise LabError(f"{path}: {fault}")
    return found


def _fault(experiment: Experiment) -> str:
    """What the types don't say."""
    if len(experiment.variants) < 2:
        return "variants: give at least two, the first of which the others are compared with"
    if experiment.repeats < 1:
        return f"repeats is {experiment.repeats}; it must be at least 1"
    num_runs = experiment.repeats * len(experiment.variants) * len(experiment.points)
    if num_runs > MAX_RUNS:
        return f"{num_runs} runs are more than {MAX_RUNS}; give fewer repeats, variants or points"
    known = {str(figure) for figure in experiment.compared}
    return next((fault for claim in experiment.claims if (fault := _fault_of(claim, experiment, known))), "")


def _fault_of(claim: Claim, experiment: Experiment, known: set[str]) -> str:
    names = [name for name in experiment.variants if claim.growth or name != experiment.baseline]
    if claim.variant not in names:
        return f"claims: '{claim.variant}' is none of {', '.join(names)}"
    figures = [str(figure) for figure in matching(claim.figure)]
    if len(figures) != 1 or figures[0] not in known:
        return f"claims: '{claim.figure}' is none of the figures {', '.join(sorted(known))}"
    if (claim.at_least is None) == (claim.at_most is None):
        return f"claims: {claim.figure} needs at_least or at_most, and not both"
    if claim.growth and not experiment.grows:
        return "claims: growth is from the first value of one key in over to later ones"
    if not any(map(claim.is_about, experiment.points[1:] if claim.growth else experiment.points)):
        return f"claims: there is no point at {claim.at}"
    return ""
