"""A run held against a baseline while it is judged: before any load, and when it is over."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from msgspec import structs

from harness.comparison.allowance import Allowances
from harness.comparison.baselines import Baselines, load_baseline
from harness.comparison.comparing import compare
from harness.comparison.errors import ComparisonError
from harness.comparison.figure import usual_figures
from harness.comparison.identity import differences, planned_keys
from harness.comparison.objectives import RelativeRule, relative_rules_from
from harness.comparison.past_run import past_run
from harness.comparison.side import Side
from harness.past_scenario import past_scenario
from harness.sla.errors import RuleError
from reports import comparison as reports
from reports.comparison.document import Change, Comparison, Figure
from reports.result import RuleResult, Verdict
from reports.result.verdict import worst

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.result_folder import Manifest, ResultFolder
    from reports.result import Result
    from scenarios.scenario import Scenario

KEPT_AS: Final = "baseline"
_FILES: Final = {"html": "comparison.html", "markdown": "comparison.md", "json": "comparison.json"}
_VERDICTS: Final = {
    Change.REGRESSION: Verdict.FAIL,
    Change.IMPROVED: Verdict.PASS,
    Change.NO_DIFFERENCE: Verdict.PASS,
    Change.UNDECIDED: Verdict.INCONCLUSIVE,
    Change.INVALID: Verdict.INVALID,
    Change.NOT_COMPARED: Verdict.INVALID,
}


def demand_comparable(
    scenario: Scenario,
    loop: str,
    model: str | None,
    baseline: Side | None,
    *,
    until_decided: bool = False,
) -> None:
    """Refuse, before any load, what could not be compared when it is over.

    Args:
        scenario: What is to be run.
        loop: ``open`` or ``closed``.
        model: As it will be sent; None where it isn't known yet.
        baseline: What to compare with.
        until_decided: Whether the run is to end once all objectives are decided.

    Raises:
        RuleError: An objective speaks of a baseline and none is given, or can't be decided before the end of
            the run, or is no objective.
        ComparisonError: The baseline is of another load.
    """
    rules = relative_rules_from(scenario.thresholds)
    if until_decided and rules:
        raise RuleError(
            f"'{rules[0]}': an objective relative to a baseline is decided when the run is over, so none can "
            "end it; take --until-decided (stop.decided) out, or state the limit as a number"
        )
    if baseline is None:
        if rules:
            raise RuleError(
                f"'{rules[0]}': no baseline is given; name one with --baseline, in a test with --sla-baseline"
            )
        return
    kept = baseline.runs[0].identity.keys
    planned = planned_keys(scenario.to_mapping(), model=model or kept.get("model"), loop=loop)
    known = {key: value for key, value in kept.items() if _known(key)}
    for each in differences(known, planned):
        if each.matters:
            raise ComparisonError(
                f"baseline {baseline.label} is of another load: {each.key} was {each.a} there and is "
                f"{each.b} here; run the same scenario, or save a new baseline"
            )


def _known(key: str) -> bool:
    """Whether a key can be known before a run."""
    return not key.startswith("environment.") and key not in ("base_url", "tool_version", "token_source")


def keep(baseline: Side | None, folder: ResultFolder) -> None:
    """Put the baseline beside the run, so that its reports can be made again.

    Raises:
        BaselineError: It can't be written.
    """
    if baseline is not None:
        Baselines(folder.path).save(KEPT_AS, baseline, baseline.label)


def kept_with(folder: ResultFolder) -> Side | None:
    """The baseline that a run was held against; None for none.

    Raises:
        BaselineError: It can't be read.
    """
    kept = folder.path / KEPT_AS
    return load_baseline(kept) if kept.is_dir() else None


def judged_against(folder: ResultFolder, manifest: Manifest, result: Result) -> Result:
    """The result with its relative objectives judged by the baseline beside it; reports of that are written.

    The result as it is where no baseline was kept.

    Raises:
        BaselineError: It can't be read.
        OSError: The reports can't be written.
    """
    baseline = kept_with(folder)
    if baseline is None:
        return result
    result, done = held_against(baseline, folder, manifest, result)
    for name, file in _FILES.items():
        reports.write(done, name, folder.path / file)
    return result


def held_against(
    baseline: Side, folder: ResultFolder, manifest: Manifest, result: Result
) -> tuple[Result, Comparison]:
    """The result with its relative objectives judged by a baseline, and the whole comparison."""
    scenario = past_scenario(manifest.scenario)
    rules = relative_rules_from(scenario.thresholds)
    run = Side(folder.path.resolve().name, (past_run(folder, manifest, result),))
    done = compare(
        baseline,
        run,
        figures=tuple(dict.fromkeys((*(rule.figure for rule in rules), *usual_figures()))),
        allowances=Allowances.of_rules((rule.figure, rule.allowed) for rule in rules),
        confidence=scenario.confidence,
    )
    return _with_rules(result, done, rules), done


def _with_rules(result: Result, done: Comparison, rules: Iterable[RelativeRule]) -> Result:
    figures = {figure.name: figure for figure in done.figures}
    judged = tuple(_judged(rule, figures.get(str(rule.figure)), done) for rule in rules)
    verdict = worst((result.verdict, *(each.verdict for each in judged)))
    return structs.replace(
        result, rules=(*result.rules, *judged), verdict=verdict, notes=(*result.notes, *_notes(done))
    )


def _judged(rule: RelativeRule, figure: Figure | None, done: Comparison) -> RuleResult:
    """Each objective is a question of its own: its own interval decides, without Holm's correction."""
    if figure is None or figure.a is None or figure.b is None:
        message = done.causes[0] if figure is None else figure.message or "there is nothing to compare"
        return _result(rule, None, 0.0, Verdict.INVALID, done.confidence, message)
    verdict, message = _verdict(figure)
    limit, low, high = (_absolute(figure, change) for change in (figure.allowed, figure.low, figure.high))
    result = _result(rule, figure.b, limit or 0.0, verdict, done.confidence, message)
    times = figure.times_as_many if verdict is Verdict.INCONCLUSIVE else None
    more = None if times is None or times > 1e6 else math.ceil(figure.n_b * max(0.0, times - 1))
    return structs.replace(result, n=figure.n_b, low=low, high=high, more_needed=more)


def _verdict(figure: Figure) -> tuple[Verdict, str]:
    if figure.verdict is Change.UNDECIDED and figure.low is not None and figure.high is not None:
        beyond = figure.low > figure.allowed if figure.larger_is_worse else figure.high < figure.allowed
        if beyond:
            return Verdict.FAIL, "worse than the baseline by more than is allowed"
    said = {
        Change.REGRESSION: "worse than the baseline by more than is allowed",
        Change.IMPROVED: "better than the baseline",
        Change.NO_DIFFERENCE: "not worse than the baseline by more than is allowed",
    }
    return _VERDICTS[figure.verdict], "; ".join(filter(None, (said.get(figure.verdict), figure.message)))


def _absolute(figure: Figure, change: float | None) -> float | None:
    """A change as a value of B."""
    if change is None or figure.a is None:
        return None
    value = figure.a * change if figure.kind == "ratio" else figure.a + change
    return float(f"{value:.6g}")  # a measured limit has no more digits


def _result(
    rule: RelativeRule,
    observed: float | None,
    limit: float,
    verdict: Verdict,
    confidence: float,
    message: str,
) -> RuleResult:
    return RuleResult(
        rule=str(rule),
        metric=rule.figure.metric,
        observed=observed,
        limit=limit,
        unit=rule.figure.unit,
        verdict=verdict,
        confidence=confidence,
        n=0,
        message=message,
    )


def _notes(done: Comparison) -> Iterator[str]:
    by = {change: [f.name for f in done.figures if f.verdict is change] for change in Change}
    worse = f": {', '.join(by[Change.REGRESSION])}" if by[Change.REGRESSION] else ""
    yield (
        f"against baseline {done.a.label}: {len(by[Change.REGRESSION])} of {len(done.figures)} figures worse "
        f"by more than allowed{worse}; {len(by[Change.IMPROVED])} better, "
        f"{len(by[Change.UNDECIDED])} undecided (comparison.html)"
    )
