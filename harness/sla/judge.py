"""The verdict of each rule and of the run, from one frozen snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from harness.sla import messages
from harness.sla.causes import causes
from harness.sla.censored import holds_with_the_missing, num_missing
from harness.sla.dependence import INDEPENDENT
from harness.sla.evidence import find
from harness.sla.statistics import Decision
from harness.sla.turn import find_turn, with_turn
from reports.result import RuleResult, Verdict
from reports.result.verdict import worst

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.sla.finding import Finding
    from harness.sla.rule import Rule
    from harness.sla.turn import Turn
    from harness.summary.snapshot import Snapshot
    from reports.result import ClientHealth


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What a run comes to.

    Attributes:
        verdict: The worst of all: INVALID, FAIL, INCONCLUSIVE, PASS. None where there are no rules and
            nothing is wrong.
        rules: All rules, in their order.
        causes: Why the run as a whole can't be trusted.
    """

    verdict: Verdict | None
    rules: tuple[RuleResult, ...]
    causes: tuple[str, ...]

    def invalid(self, *causes: str) -> Judgement:
        """The same of a run that can't be trusted for these causes besides; as it is where there are none."""
        if not causes:
            return self
        return Judgement(verdict=Verdict.INVALID, rules=self.rules, causes=(*self.causes, *causes))


def judge(
    rules: Iterable[Rule],
    snapshot: Snapshot,
    health: ClientHealth | None = None,
    confidence: float = 0.95,
    *,
    cause: str | None = None,
    complete: bool = True,
    interrupted: bool = False,
    with_pace: bool = True,
) -> Judgement:
    """Judge a run.

    Args:
        rules: Its objectives.
        snapshot: What was measured.
        health: What the harness measured of itself; None where that is not known.
        confidence: With which a PASS or a FAIL must hold, 0.5 <= confidence < 1.
        cause: A cause for INVALID that was found before.
        complete: Whether all of the load was sent. A part of it can fail, and it can't pass.
        interrupted: Whether it was told to end, so that what was in flight had no time to end.
        with_pace: Whether its pace is judged. Where a part of the senders was lost it says nothing.
    """
    rules = tuple(rules)
    results = tuple(judge_rule(rule, snapshot, health, confidence, interrupted=interrupted) for rule in rules)
    found = (*(() if cause is None else (cause,)), *causes(results, snapshot, health, with_pace=with_pace))
    verdicts = {result.verdict for result in results}
    verdicts |= {Verdict.INVALID} if found else set()
    verdicts |= set() if complete else {Verdict.INCONCLUSIVE}
    return Judgement(verdict=worst(verdicts), rules=results, causes=found)


def judge_rule(
    rule: Rule,
    snapshot: Snapshot,
    health: ClientHealth | None = None,
    confidence: float = 0.95,
    *,
    interrupted: bool = False,
) -> RuleResult:
    """Judge one rule; arguments as for ``judge``."""
    finding = find(rule, snapshot, confidence)
    turn = None if finding.observed is None else find_turn(rule, snapshot)
    if turn is not None:
        finding = with_turn(rule, finding, turn, confidence)
    verdict, message = _verdict(rule, finding, snapshot, health, confidence, turn, interrupted=interrupted)
    needed = finding.needed if verdict is Verdict.INCONCLUSIVE else None
    return RuleResult(
        rule=str(rule),
        metric=rule.metric,
        observed=finding.observed,
        limit=rule.limit,
        unit=rule.unit,
        verdict=verdict,
        confidence=confidence,
        n=finding.n,
        n_eff=finding.n_eff,
        low=finding.low,
        high=finding.high,
        more_needed=None if needed is None or needed > messages.MANY else needed - finding.n,
        message=messages.with_estimate(message, rule, snapshot.estimate),
    )


def _verdict(
    rule: Rule,
    finding: Finding,
    snapshot: Snapshot,
    health: ClientHealth | None,
    confidence: float,
    turn: Turn | None,
    *,
    interrupted: bool,
) -> tuple[Verdict, str]:
    if finding.observed is None:
        return Verdict.INVALID, messages.without_sample(rule, finding)
    error = None if rule.is_rate else snapshot.client_errors.get(rule.series(snapshot.loop))
    if error is not None and abs(finding.observed - rule.limit) <= error:
        return Verdict.INVALID, messages.eaten(rule, finding, error, health)
    if finding.decision is Decision.OPEN:
        if turn is not None:
            return Verdict.INVALID, messages.changed(rule, finding, turn)
        return Verdict.INCONCLUSIVE, messages.undecided(rule, finding, confidence)
    if finding.decision is Decision.FALSE:
        return Verdict.FAIL, messages.decided(rule, finding, confidence, turn)
    missing = num_missing(rule, snapshot, interrupted=interrupted)
    if not holds_with_the_missing(rule, snapshot, missing, confidence, finding.dependence or INDEPENDENT):
        return Verdict.INVALID, messages.censored(rule, finding, missing, interrupted=interrupted)
    return Verdict.PASS, messages.decided(rule, finding, confidence)
