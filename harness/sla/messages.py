"""The sentence beside a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from harness.rates import ATTAINMENT, CLASS_OF, ERROR_RATE
from harness.sla.statistics import Decision
from reports.units import against, quantity

if TYPE_CHECKING:
    from harness.sla.finding import Finding
    from harness.sla.rule import Rule
    from harness.sla.turn import Turn
    from reports.result import ClientHealth

MANY: Final = 100_000_000
"""More samples than that no run has."""
_SAMPLES_PER_MISS: Final = 10


def decided(rule: Rule, finding: Finding, confidence: float, turn: Turn | None = None) -> str:
    """Why it holds, or is violated."""
    observed, limit = _shown(rule, finding)
    side = _side(rule, good=finding.decision is Decision.TRUE)
    head = f"{observed} {side} {limit}{_bound(rule, finding, confidence)}; {_counted(finding)}"
    return head if turn is None else f"{head}; {_turned(rule, turn)}"


def undecided(rule: Rule, finding: Finding, confidence: float) -> str:
    """Why nothing can be said, and what would help."""
    observed, limit = _shown(rule, finding)
    at = f"with {quantity(confidence, 'share')} confidence"
    head = f"{observed} against {limit} decides nothing {at}; {_counted(finding)}"
    if finding.needed is None:
        return f"{head}; run longer, or move the limit away from what is measured"
    if finding.needed > MANY:
        return f"{head}; no real run would decide: it takes {_about(finding.needed)} samples; {_nearer(rule)}"
    more = finding.needed - finding.n
    samples = "1 more sample" if more == 1 else f"{more} more samples"
    return f"{head}; {samples} would decide ({finding.needed} in all) if they went on like this"


def changed(rule: Rule, finding: Finding, turn: Turn) -> str:
    """Why a run of two servers says nothing of either."""
    observed, limit = _shown(rule, finding)
    return (
        f"{observed} against {limit}: {_turned(rule, turn)}. That is no steady server, and more of the same "
        "would tell nothing of one; find out what happened to it then, and run again; if its queue grows "
        "without end, lower the rate"
    )


def without_sample(rule: Rule, finding: Finding) -> str:
    """Why there is nothing to judge."""
    return f"no sample of {rule.metric}: {finding.reason}"


def eaten(rule: Rule, finding: Finding, error: float, health: ClientHealth | None) -> str:
    """Why the margin is none."""
    observed, limit = _shown(rule, finding)
    late = health is not None and error > 2 * (health.stamp_error_p99 or health.loop_lag_p99)
    cause = "requests were sent late" if late else "its event loop lagged"
    return (
        f"{observed} against {limit}: the margin is not larger than the harness's own error of "
        f"{quantity(error, rule.unit)} ({cause}); lower the rate, or give the harness a core of its own"
    )


def censored(rule: Rule, finding: Finding, num_missing: int, *, interrupted: bool) -> str:
    """Why it holds only without those who were still waiting."""
    observed, limit = _shown(rule, finding)
    requests = "1 request" if num_missing == 1 else f"{num_missing:,} requests"
    if interrupted:
        return (
            f"{observed} against {limit}, but {requests} had waited for longer than that when the run was "
            "interrupted; let it run to its end"
        )
    were, may = ("was", "may be a miss") if num_missing == 1 else ("were", "may all be misses")
    return (
        f"{observed} against {limit}, but {requests} {were} still waiting when the run ended "
        f"and {may}; raise load.grace, or lower the rate"
    )


def with_estimate(message: str, rule: Rule, estimate: str | None) -> str:
    """The message, with a word on tokens that the server didn't count where the rule depends on them."""
    return f"{message}; {estimate}" if estimate is not None and rule.needs_output_tokens else message


def _about(number: int) -> str:
    return f"some {float(f'{number:.2g}'):,.0f}"


def _nearer(rule: Rule) -> str:
    """What to change where no run would decide."""
    if rule.statistic is None or rule.statistic.p is None:
        return "move the limit away from what is measured"
    share = min(rule.statistic.p, 100 - rule.statistic.p) / 100
    if share * MANY > _SAMPLES_PER_MISS:
        return "move the limit away from what is measured"
    return "state a percentile that is less extreme, such as p99.9"


def _turned(rule: Rule, turn: Turn) -> str:
    (before, of_before), (after, of_after) = turn.before, turn.after
    at = f"the server changed at {turn.at_ns / 1e9:.4g} s"
    return f"{at}: before it {before:,} of {of_before:,} {_missed(rule)}, after it {after:,} of {of_after:,}"


def _missed(rule: Rule) -> str:
    if rule.metric == ATTAINMENT:
        return "missed an objective"
    if rule.is_rate:
        return "failed" if rule.metric == ERROR_RATE else f"failed by {CLASS_OF[rule.metric]}"
    return "over the limit" if rule.operator.is_ceiling else "under the limit"


def _counted(finding: Finding) -> str:
    """What the verdict stands on: how many samples, and how many independent ones they are worth."""
    if finding.n_eff is None or round(finding.n_eff) >= finding.n:
        return finding.detail
    return f"{finding.detail}; {finding.n:,} samples worth {finding.n_eff:,.0f} independent ones"


def _shown(rule: Rule, finding: Finding) -> tuple[str, str]:
    return against(finding.observed, rule.limit, rule.unit)


def _side(rule: Rule, *, good: bool) -> str:
    below = rule.operator.is_ceiling == good
    strict = rule.operator.strict == good
    return ("is below" if below else "is above") if strict else ("is at most" if below else "is at least")


def _bound(rule: Rule, finding: Finding, confidence: float) -> str:
    """The bound that decided: the one that lies between the observed value and the limit."""
    high = rule.operator.is_ceiling == (finding.decision is Decision.TRUE)
    bound = finding.high if high else finding.low
    if bound is None:
        return ""
    shown, _ = against(bound, rule.limit, rule.unit)
    return f" ({'at most' if high else 'at least'} {shown} with {quantity(confidence, 'share')} confidence)"
