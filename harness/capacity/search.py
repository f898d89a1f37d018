"""Which load to probe next: a function of the probes so far, so that a search can be taken up again.

First the load is doubled, or halved, until one probe has passed and another has failed. Then the next load
is the median of what is known of the capacity. A probe that decides nothing is repeated, as much longer as
its verdict asks for; if that is too long, or decides nothing either, the search goes on beside it, below
where the objectives seemed to be missed and above where they seemed to hold. That says where to look, and
nothing is ever concluded from it.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Final, NamedTuple

from harness.capacity.knee import Belief, tells
from reports.capacity.search import End
from reports.result import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reports.capacity.search import Probe

GROWTH: Final = 2.0
MAX_LENGTH: Final = 16.0
_LONGER: Final = (2.0, 4.0)
_ROOM: Final = 1.2
_PARTS: Final = 8
_BELOW_FIRST: Final = (0.3, 0.7, 0.15, 0.85, 0.05, 0.95)
_ABOVE_FIRST: Final = (0.7, 0.3, 0.85, 0.15, 0.95, 0.05)
_MAX_INVALID: Final = 3
_DIGITS: Final = 3


class Step(NamedTuple):
    """What to do next.

    Attributes:
        load: Requests per second or slots.
        length: How many times as long as the scenario says.
    """

    load: float
    length: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Limits:
    """What a search may do.

    Attributes:
        start: The first load.
        lowest: No smaller load is tried.
        highest: No larger load is tried; None for no limit.
        whole: Whether loads are whole numbers.
        confidence: Of the verdicts and of the interval.
        precision: Ends the search once the interval's ends differ by no more than this share.
        max_probes: So many probes at most.
        max_time_s: A probe that would end later is not begun.
        expect_s: How long a probe of that load and length takes; None where only the server knows.
    """

    start: float
    lowest: float
    highest: float | None
    whole: bool
    confidence: float
    precision: float
    max_probes: int
    max_time_s: float
    expect_s: Callable[[Step], float | None]

    def fitting(self, load: float) -> float:
        """The load nearest to it that may be probed: within the range, of three digits or whole."""
        load = max(self.lowest, load if self.highest is None else min(load, self.highest))
        if self.whole:
            return float(max(1, round(load)))
        return round(load, _DIGITS - 1 - math.floor(math.log10(load)))


class Search:
    """A search as far as it has come.

    Args:
        limits: What it may do.
        probes: In their order.

    Attributes:
        belief: By all probes that tell something: where to look next. None without such.
        sure: By the decided ones alone: what the answer is made of. None without such.
        best_pass: The largest load that passed.
        least_fail: The smallest load that failed.
    """

    def __init__(self, limits: Limits, probes: Sequence[Probe]) -> None:
        self._limits = limits
        self._probes = tuple(probes)
        self.best_pass = max(self._loads(Verdict.PASS), default=None)
        self.least_fail = min(self._loads(Verdict.FAIL), default=None)
        self.belief = Belief(self._probes, limits.confidence) if any(map(tells, self._probes)) else None
        decided = [each for each in probes if each.verdict in (Verdict.PASS, Verdict.FAIL)]
        self.sure = Belief(decided, limits.confidence) if decided else None

    def _loads(self, *verdicts: Verdict) -> list[float]:
        return [probe.load for probe in self._probes if probe.verdict in verdicts]

    @property
    def interval(self) -> tuple[float | None, float | None]:
        """Both ends, by the decided probes alone; None for one that none of them bounds."""
        if self.sure is None:
            return None, None
        low, high = self.sure.interval(self._limits.confidence)
        if self._limits.whole:
            low, high = float(max(0, math.floor(low))), float(math.floor(high))
        return (
            None if self.best_pass is None else low,
            None if self.least_fail is None else high,
        )

    @property
    def estimate(self) -> float | None:
        """The median; None where it isn't bounded on both sides."""
        if self.belief is None or self.best_pass is None or self.least_fail is None:
            return None
        low, high = self.interval
        assert low is not None
        assert high is not None
        median = min(high, max(low, self.belief.quantile(0.5)))
        return float(math.floor(median)) if self._limits.whole else median

    def next(self) -> Step | End:
        """The next probe, or why there is none."""
        if not self._probes:
            return self._affordable(Step(self._limits.fitting(self._limits.start), 1.0))
        end = self._end()
        return end if end is not None else self._affordable(self._step())

    def _end(self) -> End | None:
        if self._is_precise(*self.interval):
            return End.PRECISION
        if self._is_at_top():
            return End.TOP
        if self._is_at_bottom():
            return End.BOTTOM
        if self._is_invalid():
            return End.INVALID
        return End.BUDGET if len(self._probes) >= self._limits.max_probes else None

    def _is_at_top(self) -> bool:
        """All that may be tried passes."""
        highest = self._limits.highest
        if highest is None or self.best_pass is None or self.least_fail is not None:
            return False
        return self.best_pass >= self._limits.fitting(highest)

    def _is_at_bottom(self) -> bool:
        """Nothing that may be tried passes."""
        if self.least_fail is None or self.best_pass is not None:
            return False
        return self.least_fail <= self._limits.fitting(self._limits.lowest)

    def _is_precise(self, low: float | None, high: float | None) -> bool:
        return low is not None and high is not None and high <= low * (1 + self._limits.precision)

    def _is_invalid(self) -> bool:
        """Nothing below can be trusted, or too little above."""
        num = len(self._loads(Verdict.INVALID))
        return num >= _MAX_INVALID or (num > 0 and self.belief is None)

    def _affordable(self, step: Step) -> Step | End:
        spent_s = sum(probe.duration_s for probe in self._probes)
        left_s = self._limits.max_time_s - spent_s
        return step if self._expected_s(step) <= left_s else End.BUDGET

    def _expected_s(self, step: Step) -> float:
        """By the plan, or else like the last probe, had it been as long: more slots take as much time."""
        planned_s = self._limits.expect_s(step)
        if planned_s is not None or not self._probes:
            return planned_s or 0.0
        last = self._probes[-1]
        return last.duration_s * step.length / last.length

    def _step(self) -> Step:
        last = self._probes[-1]
        if last.verdict is Verdict.INCONCLUSIVE and self._num_undecided(last.load) == 1:
            longer = self._longer(last)
            if longer is not None:
                return Step(last.load, longer)
        if self.least_fail is None or self.best_pass is None:
            load = self._limits.fitting(self._further())
            length = last.length if last.verdict is Verdict.INCONCLUSIVE else 1.0
            return Step(load, min(MAX_LENGTH, length * _LONGER[0]) if load == last.load else length)
        return self._between()

    def _num_undecided(self, load: float) -> int:
        return self._loads(Verdict.INCONCLUSIVE).count(load)

    def _longer(self, probe: Probe) -> float | None:
        """As long as it takes to decide; None where that is too long to be worth it."""
        factor = _LONGER[0]
        if probe.more_needed is not None and probe.num_requests:
            factor = max(factor, _ROOM * (1 + probe.more_needed / probe.num_requests))
        length = probe.length * factor
        return length if factor <= _LONGER[1] and length <= MAX_LENGTH else None

    def _further(self) -> float:
        """Beyond all that was tried, but not where probes were invalid."""
        tried = self._loads(Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE)
        ceiling = min(self._loads(Verdict.INVALID), default=math.inf)
        seems_too_much = self.best_pass is None and self._probes[-1].seems_missed
        if self.least_fail is None and not seems_too_much:
            highest = max(tried)
            return math.sqrt(highest * ceiling) if ceiling < highest * GROWTH else highest * GROWTH
        return min(tried) / GROWTH

    def _between(self) -> Step:
        """The median of what is known; beside it where probes near it were of no use, or else longer."""
        assert self.belief is not None
        low, high = self.belief.interval(self._limits.confidence)
        near, median = math.log(high / low) / _PARTS, self.belief.quantile(0.5)
        useless = [
            probe for probe in self._probes if probe.verdict in (Verdict.INCONCLUSIVE, Verdict.INVALID)
        ]
        tried = [probe for probe in useless if abs(math.log(probe.load / median)) <= near]
        below_first = bool(tried) and tried[-1].seems_missed
        length = max((probe.length for probe in tried), default=1.0)
        for q in (0.5, *(_BELOW_FIRST if below_first else _ABOVE_FIRST)):
            place = self.belief.quantile(q)
            if all(abs(math.log(probe.load / place)) > near for probe in useless):
                return Step(self._limits.fitting(place), length)
        return Step(self._limits.fitting(median), min(MAX_LENGTH, length * _LONGER[0]))
