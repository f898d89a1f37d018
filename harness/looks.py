"""Looks at a run that is to end as soon as all its objectives are decided (``stop.decided``).

Who looks often enough sees what they hope for: each look is another chance to be wrong. So the error that a
verdict may have, 1 - confidence, is spent over at most seven looks, whose places in the plan are fixed
beforehand: each gets the share of it that the plan has advanced by since the look before (alpha spending, Lan
and DeMets 1983, linear in time). The sum of all is what one look would have had, whatever the looks have to
do with each other, so the verdict holds with the confidence that was asked for, wherever the run ended. The
last look keeps a third, for the run that nothing decided before its end.

A look sees the requests that have ended; those in flight count as misses. When it decides, nothing more is
sent, what is in flight may end, and the verdict is made from everything that was due until then.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final

from harness.decided import Decided
from harness.sla.judge import judge
from reports.result import Verdict

if TYPE_CHECKING:
    from harness.load_status import LoadStatus
    from harness.tally import Tally
    from scenarios.schedule import Schedule

NUM_LOOKS: Final = 7
MIN_REQUESTS: Final = 100
"""Fewer can't show that they depend on each other, nor bear the high confidence of an early look."""
_GROWTH: Final = 1.5
"""Each look comes when the run is so many times as long as at the one before."""


def place_of(look: int) -> float:
    """How much of the plan has been done at a look, 0..1; look 0 is the start."""
    return 0.0 if look < 1 else float(_GROWTH ** (look - NUM_LOOKS))


def confidence_at(look: int, confidence: float) -> float:
    """With which confidence a look must decide, so that all looks together have ``confidence``."""
    return 1 - (1 - confidence) * (place_of(look) - place_of(look - 1))


class Looks:
    """When to look, and what is seen.

    Args:
        schedule: The plan, with its most requests or its longest duration.
        confidence: Over all looks.
    """

    def __init__(self, schedule: Schedule, confidence: float) -> None:
        self._schedule = schedule
        self._confidence = confidence
        self._look = 0

    def is_due(self, elapsed_ns: int, num_ended: int) -> bool:
        """Whether to look now; the run's own end is the last look. Asked for once it is True, it is no more.

        Args:
            elapsed_ns: Since the start.
            num_ended: Requests that have ended.
        """
        done, before = self._done(elapsed_ns, num_ended), self._look
        while self._look + 1 < NUM_LOOKS and done >= place_of(self._look + 1):
            self._look += 1
        return self._look > before

    def _done(self, elapsed_ns: int, num_ended: int) -> float:
        """How much of the plan has been done, by what will end it first."""
        plan = self._schedule
        done = 0.0 if plan.num_requests is None else num_ended / plan.num_requests
        if plan.duration_ns is not None:
            length_ns = plan.duration_ns - plan.warmup_ns - plan.cooldown_ns
            done = max(done, (elapsed_ns - plan.warmup_ns) / length_ns)
        return done

    def look(self, tally: Tally, status: LoadStatus) -> Decided | None:
        """Whether every objective is decided by what has ended so far.

        Args:
            tally: The requests that have ended.
            status: How the load stands.
        """
        if tally.summarizer.num_requests < MIN_REQUESTS:
            return None
        seen = tally.summarizer.snapshot(ended_ns=status.elapsed_ns, interrupted=True, health=status.health)
        waiting = dataclasses.replace(seen, num_cut=seen.num_cut + status.in_flight)
        found = judge(tally.rules, waiting, status.health, confidence_at(self._look, self._confidence))
        verdicts = {result.verdict for result in found.rules}
        if found.causes or not verdicts <= {Verdict.PASS, Verdict.FAIL}:
            return None
        return Decided(look=self._look, at_ns=status.elapsed_ns)
