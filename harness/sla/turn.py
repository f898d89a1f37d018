"""A server that changed for good in the midst of a run: it died, or turned bad.

Until then hardly a request misses the limit, from then on nearly all do by far, and the last ones too. A
queue that fills and empties shows nothing like that: it comes from below a limit to twice the limit by many
steps, and the requests of these steps are far on neither side. More requests of the same wouldn't decide what
share of a steady server's requests miss: there was none.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from msgspec import structs

from harness.rates import SHARE
from harness.sla import spells
from harness.sla.evidence.counted import may_miss
from harness.sla.statistics import Decision
from harness.summary.due_order import beyond

if TYPE_CHECKING:
    from harness.sla.finding import Finding
    from harness.sla.rule import Rule
    from harness.summary.due_order import FloatArray
    from harness.summary.snapshot import Snapshot

Marks = np.ndarray[Any, np.dtype[np.bool_]]

FAR: Final = 2.0
"""A value is far beyond its limit where it is so many times as bad."""
_NEARLY_ALL: Final = 0.9
_MIN_REQUESTS: Final = 10
"""On each side."""
_LAST: Final = 3


class Turn(NamedTuple):
    """When a server changed for good, and what its requests were like before and after.

    Attributes:
        at_ns: When the first request of the bad ones was due, since the start of the run.
        before: How many requests of those due before missed the limit, and how many there were.
        after: Likewise of those due from then on.
        bound: Nearly all of these were worse than this, which is worse than the limit; None for shares.
    """

    at_ns: int
    before: tuple[int, int]
    after: tuple[int, int]
    bound: float | None = None


def find_turn(rule: Rule, snapshot: Snapshot) -> Turn | None:
    """When the server turned bad by what the rule asks; None where it did not, or where no order is known."""
    if rule.is_rate and rule.unit != SHARE:
        return None
    series = None if rule.is_rate else rule.series(snapshot.loop)
    samples = snapshot.due_order.samples(rule, series)
    if samples is None or samples.sizes.size < 2 * _MIN_REQUESTS:
        return None
    due_ns = snapshot.due_order.due_ns_of(rule, series)
    values = samples.sums / samples.sizes
    missed = values > 0.5 if rule.is_rate else beyond(rule, values)
    bad = missed if rule.is_rate else beyond(rule, _nearer(rule, values))
    place = _place(missed, bad)
    if not _splits(missed, bad, place) or due_ns[place - 1] == due_ns[place]:
        return None
    return Turn(
        at_ns=int(due_ns[place]),
        before=(int(missed[:place].sum()), place),
        after=(int(missed[place:].sum()), missed.size - place),
        bound=None if rule.is_rate else _bound(rule, values[place:]),
    )


def with_turn(rule: Rule, finding: Finding, turn: Turn, confidence: float) -> Finding:
    """The evidence, given that the server turned bad and stayed so.

    What nothing else decides is violated, if a server that holds the rule seldom is in a bad spell when a run
    ends: as seldom as verdicts may be wrong.
    """
    allowed = may_miss(rule)
    if finding.decision is not Decision.OPEN or finding.observed is None or rule.holds(finding.observed):
        return finding
    if allowed is None or not spells.refute_by_the_end(allowed, confidence):
        return finding
    bound, low, high = turn.bound, finding.low, finding.high
    if bound is not None and rule.operator.is_ceiling:
        low = max(min(bound, finding.observed), low or 0.0)
    elif bound is not None:
        high = min(max(bound, finding.observed), math.inf if high is None else high)
    return structs.replace(finding, decision=Decision.FALSE, low=low, high=high)


def _nearer(rule: Rule, values: FloatArray) -> FloatArray:
    """Values so much better that only those far beyond the limit still miss it."""
    return values / FAR if rule.operator.is_ceiling else values * FAR


def _place(missed: Marks, bad: Marks) -> int:
    """Where to split: with the most good ones before, and the most bad ones after."""
    good_before = np.concatenate([[0], np.cumsum(~missed)])
    bad_before = np.concatenate([[0], np.cumsum(bad)])
    return int(np.argmax(good_before - bad_before))


def _splits(missed: Marks, bad: Marks, place: int) -> bool:
    """Whether nearly all are good before and bad after, the very last too."""
    before, after = ~missed[:place], bad[place:]
    return (
        min(before.size, after.size) >= _MIN_REQUESTS
        and bool(after[-_LAST:].all())
        and min(float(before.mean()), float(after.mean())) >= _NEARLY_ALL
    )


def _bound(rule: Rule, values: FloatArray) -> float:
    better = np.sort(_nearer(rule, values))
    least = int((1 - _NEARLY_ALL) * better.size)
    return float(better[least] if rule.operator.is_ceiling else better[-1 - least])
