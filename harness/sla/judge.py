"""The verdict of each rule and of the run, from one frozen snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from harness.sla import messages
from harness.sla.causes import causes
from harness.sla.censored import holds_with_the_cut
from harness.sla.dependence import INDEPENDENT
from harness.sla.evidence import find
from harness.sla.statistics import Decision
from reports.result import RuleResult, Verdict
from reports.result.verdict import worst

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.sla.finding import Finding
    from harness.sla.rule import Rule
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
        with_pace: Whether its pace is judged. Where a part of the senders was lost it says nothing.
    """
    rules = tuple(rules)
    results = tuple(judge_rule(rule, snapshot, health, confidence) for rule in rules)
    found = (*(() if cause is None else (cause,)), *causes(rules, snapshot, health, with_pace=with_pace))
    verdicts = {result.verdict for result in results}
    verdicts |= {Verdict.INVALID} if found else set()
    verdicts |= set() if complete else {Verdict.INCONCLUSIVE}
    return Judgement(verdict=worst(verdicts), rules=results, causes=found)


def judge_rule(
    rule: Rule, snapshot: Snapshot, health: ClientHealth | None = None, confidence: float = 0.95
) -> RuleResult:
    """Judge one rule; arguments as for ``judge``."""
    finding = find(rule, snapshot, confidence)
    verdict, message = _verdict(rule, finding, snapshot, health, confidence)
    undecided = verdict is Verdict.INCONCLUSIVE and finding.needed is not None
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
        more_needed=finding.needed - finding.n if undecided and finding.needed is not None else None,
        message=messages.with_estimate(message, rule, snapshot.estimate),
    )


def _verdict(
    rule: Rule, finding: Finding, snapshot: Snapshot, health: ClientHealth | None, confidence: float
) -> tuple[Verdict, str]:
    if finding.observed is None:
        return Verdict.INVALID, messages.without_sample(rule, finding)
    error = None if rule.is_rate else snapshot.client_errors.get(rule.series(snapshot.loop))
    if error is not None and abs(finding.observed - rule.limit) <= error:
        return Verdict.INVALID, messages.eaten(rule, finding, error, health)
    if finding.decision is Decision.OPEN:
        return Verdict.INCONCLUSIVE, messages.undecided(rule, finding, confidence)
    holds = finding.decision is Decision.TRUE
    if holds and not holds_with_the_cut(rule, snapshot, confidence, finding.dependence or INDEPENDENT):
        return Verdict.INVALID, messages.censored(rule, finding, snapshot.num_cut)
    verdict = Verdict.PASS if holds else Verdict.FAIL
    return verdict, messages.decided(rule, finding, confidence)
