"""What a rule needs of a run, asked before any load is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness import metrics
from harness.quality_figures import QUALITY_FIGURES
from harness.rates import OF_OBJECTIVES
from harness.sla.errors import RuleError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.sla.rule import Rule


def demand_judgeable(
    rules: Iterable[Rule],
    *,
    loop: str,
    streaming: bool = True,
    deadlines: bool = False,
    until_decided: bool = False,
    telemetry: bool = True,
    quality: bool = False,
) -> None:
    """Refuse rules that no run of this kind could be judged by.

    Args:
        rules: All rules of the run.
        loop: ``open`` or ``closed``.
        streaming: Whether answers are asked for as streams.
        deadlines: Whether the scenario states ``token_deadlines``.
        until_decided: Whether the run is to end once all of them are decided.
        telemetry: Whether the server's own metrics are read meanwhile.
        quality: Whether the server's quality is measured before.

    Raises:
        RuleError: One of them has no values in such a run.
    """
    rules = tuple(rules)
    if until_decided and not rules:
        raise RuleError("stop.decided: there are no objectives to decide; state thresholds")
    for rule in rules:
        if rule.is_of_server:
            _demand_looks(rule, telemetry=telemetry, until_decided=until_decided)
        elif rule.is_of_quality:
            _demand_quality(rule, stated=quality, until_decided=until_decided)
        elif rule.is_rate:
            _demand_objectives(rule, rules)
        else:
            _demand_values(rule, loop, streaming)
            _demand_deadlines(rule, stated=deadlines)


def _demand_objectives(rule: Rule, rules: tuple[Rule, ...]) -> None:
    if rule.metric in OF_OBJECTIVES and not any(other.objective() for other in rules):
        raise RuleError(
            f"'{rule}': no objective says what a good request is; "
            "state one of single requests too, such as ttft: ['p99 < 500ms']"
        )


def _demand_looks(rule: Rule, *, telemetry: bool, until_decided: bool) -> None:
    if not telemetry:
        raise RuleError(f"'{rule}': the server's metrics are not read; leave --no-telemetry out")
    if until_decided:
        raise RuleError(
            f"'{rule}': what the server says of itself is judged when the run is over, so it can't end a run "
            "as decided; take stop.decided out, or the objective"
        )


def demand_reference(rules: Iterable[Rule]) -> None:
    """Refuse rules that hold a server's quality against that of another, where none is named.

    Raises:
        RuleError: There is such a rule.
    """
    for rule in rules:
        if rule.is_of_quality and QUALITY_FIGURES[rule.metric].needs_reference:
            raise RuleError(
                f"'{rule}': there is nothing to hold the server against; name what 'tokenpace quality "
                "--record FILE' wrote of another: quality: {reference: FILE}"
            )


def _demand_quality(rule: Rule, *, stated: bool, until_decided: bool) -> None:
    if not stated:
        raise RuleError(
            f"'{rule}': the scenario doesn't measure quality; state quality: {{}} for the text that ships"
        )
    if until_decided:
        raise RuleError(
            f"'{rule}': quality is judged when the run is over, so it can't end a run as decided; take "
            "stop.decided out, or the objective"
        )


def _demand_deadlines(rule: Rule, *, stated: bool) -> None:
    if metrics.metric(rule.metric).needs_deadlines and not stated:
        raise RuleError(
            f"'{rule}': the scenario doesn't say when tokens should be there; "
            "give token_deadlines: {ttft: 500ms, tpot: 100ms}"
        )


def _demand_values(rule: Rule, loop: str, streaming: bool) -> None:
    if not streaming and metrics.metric(rule.metric).needs_stream:
        raise RuleError(
            f"'{rule}': this endpoint answers in one piece, which has no {rule.metric}; "
            "set an objective on e2e, or use an endpoint that streams"
        )
    if rule.metric == "schedule_lag" and loop != "open":
        raise RuleError(
            f"'{rule}': a closed loop has no due times; use an open loop, or take the objective out"
        )
