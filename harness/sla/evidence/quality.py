"""Rules on what a server expects of a text.

Perplexity and divergence speak of this text alone and are exact of it. What is to hold beyond it, the change
of perplexity and the agreement, has bounds: positions are samples, neighbours taken as independent.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

from harness.quality_figures import QUALITY_FIGURES
from harness.sla.evidence.bounded import decide, of_this_run
from harness.sla.finding import Finding
from harness.sla.statistics import Decision, samples_needed, share_bounds

if TYPE_CHECKING:
    from harness.quality.figures import Quality
    from harness.sla.rule import Rule
    from harness.summary.snapshot import Snapshot


def find(rule: Rule, snapshot: Snapshot, confidence: float) -> Finding:
    """Evidence for or against a rule on a figure of quality."""
    found = snapshot.quality
    value = None if found is None else getattr(found, QUALITY_FIGURES[rule.metric].field)
    if found is None or value is None or (rule.metric == "perplexity" and found.num_unlisted):
        return Finding(observed=None, n=0, reason=_reason(found))
    if rule.metric == "top1_agreement":
        return _of_share(rule, found, value, confidence)
    if rule.metric == "perplexity_ratio" and found.ratio_error is not None:
        return _of_ratio(rule, found, value, found.ratio_error, confidence)
    return Finding(
        observed=value, n=found.num_tokens, decision=of_this_run(rule, value), detail=_detail(found)
    )


def _reason(found: Quality | None) -> str:
    if found is None:
        return "the scenario states no quality: to be measured"
    if found.num_unlisted:
        return (
            f"{found.num_unlisted} of the text's tokens aren't among the likely ones that the server lists; "
            "raise quality.top"
        )
    return "there is no reference to hold it against; name one (quality.reference)"


def _detail(found: Quality) -> str:
    return f"of {found.num_tokens:,} tokens of the text"


def _of_share(rule: Rule, found: Quality, value: float, confidence: float) -> Finding:
    n = found.num_tokens
    count = round(value * n)
    low, high = share_bounds(count, n, confidence)
    decision = decide(rule, (low, high))
    misses, allowed = (count, rule.limit) if rule.operator.is_ceiling else (n - count, 1 - rule.limit)
    needed = samples_needed(misses, n, allowed, confidence) if decision is Decision.OPEN else None
    detail = f"{count:,} {_detail(found)}"
    return Finding(observed=value, n=n, low=low, high=high, decision=decision, needed=needed, detail=detail)


def _of_ratio(rule: Rule, found: Quality, value: float, error: float, confidence: float) -> Finding:
    room = NormalDist().inv_cdf(confidence) * error
    low, high = value * math.exp(-room), value * math.exp(room)
    decision = decide(rule, (low, high))
    n, gap = found.num_tokens, abs(math.log(value / rule.limit)) if rule.limit > 0 else 0.0
    needed = math.ceil(n * (room / gap) ** 2) if decision is Decision.OPEN and gap else None
    return Finding(
        observed=value, n=n, low=low, high=high, decision=decision, needed=needed, detail=_detail(found)
    )
