"""The sentence beside a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.sla.statistics import Decision
from reports.units import against, quantity

if TYPE_CHECKING:
    from harness.sla.finding import Finding
    from harness.sla.rule import Rule
    from reports.result import ClientHealth


def decided(rule: Rule, finding: Finding, confidence: float) -> str:
    """Why it holds, or is violated."""
    observed, limit = _shown(rule, finding)
    side = _side(rule, good=finding.decision is Decision.TRUE)
    return f"{observed} {side} {limit}{_bound(rule, finding, confidence)}; {_counted(finding)}"


def undecided(rule: Rule, finding: Finding, confidence: float) -> str:
    """Why nothing can be said, and what would help."""
    observed, limit = _shown(rule, finding)
    at = f"with {100 * confidence:.4g} % confidence"
    head = f"{observed} against {limit} decides nothing {at}; {_counted(finding)}"
    if finding.needed is None:
        return f"{head}; run longer, or move the limit away from what is measured"
    more = finding.needed - finding.n
    samples = "1 more sample" if more == 1 else f"{more} more samples"
    return f"{head}; {samples} would decide ({finding.needed} in all) if they went on like this"


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


def censored(rule: Rule, finding: Finding, num_cut: int) -> str:
    """Why it holds only without those who were still waiting."""
    observed, limit = _shown(rule, finding)
    return (
        f"{observed} against {limit}, but {num_cut} requests were still waiting when the run ended "
        "and may all be misses; raise load.grace, or lower the rate"
    )


def with_estimate(message: str, rule: Rule, estimate: str | None) -> str:
    """The message, with a word on tokens that the server didn't count where the rule depends on them."""
    return f"{message}; {estimate}" if estimate is not None and rule.needs_output_tokens else message


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
    return f" ({'at most' if high else 'at least'} {shown} with {100 * confidence:.4g} % confidence)"
