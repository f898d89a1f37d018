"""From the runs of an experiment to what it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from harness.comparison.comparing import compare
from harness.comparison.past_run import read_run
from harness.comparison.side import Side
from harness.lab.predictions import E2E, factor, predicted
from harness.result_folder import ResultFolder
from harness.version import __version__
from harness.wall_clock import now_text
from reports import result
from reports.lab.table import Claimed, Effect, Lab, Measured
from reports.result import Verdict
from reports.run_row import figures_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from harness.lab.cost_model import Expected
    from harness.lab.experiment import Claim, Experiment
    from harness.lab.running import Runs
    from reports.comparison.document import Comparison


def conclude(experiment: Experiment, runs: Runs, folder: Path, interrupted: str | None) -> Lab:
    """Compare the variants at every point that all of them were sent, and judge the claims."""
    effects = [] if interrupted else list(_effects(experiment, runs))
    return Lab(
        tool_version=__version__,
        name=experiment.name,
        question=experiment.question,
        prediction=experiment.prediction,
        experiment=msgspec.to_builtins(experiment),
        ended_at=now_text(),
        runs=tuple(_measured(experiment, runs, folder)),
        effects=tuple(effects),
        claims=() if interrupted else tuple(_claims(experiment, effects)),
        interrupted=interrupted,
    )


def _measured(experiment: Experiment, runs: Runs, folder: Path) -> Iterator[Measured]:
    for (place, variant), paths in sorted(runs.items(), key=lambda item: item[0][0]):
        for path in paths:
            found = result.load(ResultFolder.open(path).result_path)
            yield Measured(
                variant=variant,
                values=experiment.points[place],
                causes=tuple(found.causes),
                **figures_of(found) | {"folder": str(path.relative_to(folder))},
            )


def _effects(experiment: Experiment, runs: Runs) -> Iterator[Effect]:
    """At each point of each variant against the first one, then against itself at the first point."""
    expected = predicted(experiment)
    others = [name for name in experiment.variants if name != experiment.baseline]
    for place in range(len(experiment.points)):
        for variant in others:
            yield from _against(experiment, runs, expected, (place, experiment.baseline), (place, variant))
    for variant in experiment.variants if experiment.grows else ():
        for place in range(1, len(experiment.points)):
            yield from _against(experiment, runs, expected, (0, variant), (place, variant))


def _against(
    experiment: Experiment,
    runs: Runs,
    expected: list[dict[str, Expected]],
    first: tuple[int, str],
    other: tuple[int, str],
) -> Iterator[Effect]:
    """Each figure; both by number of the point and variant."""
    is_growth = first[0] != other[0]
    done = compare(
        _side(first, runs),
        _side(other, runs),
        figures=experiment.compared,
        across=experiment.over if is_growth else (),
    )
    for figure in map(str, experiment.compared):
        known = Effect(
            figure=figure,
            against=first[1],
            variant=other[1],
            values=experiment.points[other[0]],
            since=experiment.points[first[0]] if is_growth else None,
            predicted=_guess(figure, expected, first, other),
        )
        yield _measure(known, done)


def _guess(
    figure: str, expected: list[dict[str, Expected]], first: tuple[int, str], other: tuple[int, str]
) -> float | None:
    """The model of costs knows what each request costs, and rates of the same requests only."""
    before, after = (expected[place].get(variant) for place, variant in (first, other))
    if before is None or after is None or (first[0] != other[0] and figure != E2E):
        return None
    return factor(figure, after, before)


def _side(which: tuple[int, str], runs: Runs) -> Side:
    return Side(which[1], tuple(read_run(ResultFolder.open(path)) for path in runs[which]))


def _measure(known: Effect, done: Comparison) -> Effect:
    found = next((each for each in done.figures if each.name == known.figure), None)
    if found is None:
        return msgspec.structs.replace(known, message="; ".join(done.causes))
    return msgspec.structs.replace(
        known,
        unit=found.unit,
        kind=found.kind,
        a=found.a,
        b=found.b,
        change=found.change,
        low=found.low,
        high=found.high,
        message="" if found.low is not None and found.high is not None else found.message,
    )


def _claims(experiment: Experiment, effects: list[Effect]) -> Iterator[Claimed]:
    for claim in experiment.claims:
        for effect in effects:
            asked = (claim.figure, claim.variant, claim.growth)
            found = (effect.figure, effect.variant, effect.since is not None)
            if asked == found and claim.is_about(effect.values):
                yield _judge(claim, effect)


def _judge(claim: Claim, effect: Effect) -> Claimed:
    """Shown where the whole interval is on its side, refuted where it is on the other."""
    low, high = effect.low, effect.high
    if low is None or high is None:
        verdict = Verdict.INCONCLUSIVE if effect.unit else Verdict.INVALID
    elif claim.at_least is not None:
        verdict = _verdict(holds=low >= claim.at_least, fails=high < claim.at_least)
    else:
        assert claim.at_most is not None
        verdict = _verdict(holds=high <= claim.at_most, fails=low > claim.at_most)
    return Claimed(
        figure=claim.figure,
        variant=claim.variant,
        values=effect.values,
        since=effect.since,
        at_least=claim.at_least,
        at_most=claim.at_most,
        verdict=verdict,
    )


def _verdict(*, holds: bool, fails: bool) -> Verdict:
    return Verdict.PASS if holds else Verdict.FAIL if fails else Verdict.INCONCLUSIVE
