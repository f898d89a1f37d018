"""Numbers of a run that know how to be compared: ``run.ttft.p(99) <= "500ms"`` is an objective, judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.pytest.plainly import plainly
from harness.sla.grammar import parse_key, parse_statistic, rule_from
from harness.sla.judge import judge_rule
from harness.sla.rule import Operator, Rule
from reports.result import Verdict
from reports.units import quantity

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.summary.snapshot import Snapshot
    from reports.result import ClientHealth, RuleResult

__tracebackhide__ = True


class Judge:
    """Judges rules by one run, and remembers what it said.

    Args:
        snapshot: Makes the snapshot, when it is needed for the first time.
        health: What the harness measured of itself.
        confidence: As the scenario asks for.

    Attributes:
        said: Every rule that was judged, by its text.
    """

    def __init__(
        self, snapshot: Callable[[], Snapshot], health: ClientHealth | None, confidence: float
    ) -> None:
        self.said: dict[str, RuleResult] = {}
        self._make = snapshot
        self._snapshot: Snapshot | None = None
        self._health = health
        self._confidence = confidence

    @property
    def snapshot(self) -> Snapshot:
        """The run."""
        if self._snapshot is None:
            self._snapshot = self._make()
        return self._snapshot

    def look(self, rule: Rule) -> RuleResult:
        """Judge without remembering."""
        return judge_rule(rule, self.snapshot, self._health, self._confidence)

    def judge(self, rule: Rule) -> RuleResult:
        """Judge."""
        result = self.said[str(rule)] = self.look(rule)
        return result


class Check:
    """A comparison, judged. True if and only if it passed.

    Attributes:
        result: The whole verdict.
    """

    def __init__(self, result: RuleResult) -> None:
        self.result = result

    def __bool__(self) -> bool:
        return self.result.verdict is Verdict.PASS

    def __repr__(self) -> str:
        return f"{self.result.verdict}: {self.result.rule}: {self.result.message}"


class Measured:
    """One number of a run: a percentile, a mean, a rate, a share.

    ``<``, ``<=``, ``>`` and ``>=`` with a limit (``"500ms"``, ``0.01``, ``"5/s"``) judge it as an objective,
    with the run's confidence. A comparison that can't be decided, or can't be trusted, is not true either.

    Args:
        key: The metric or rate, as in objectives: ``ttft``, ``service_ttft``, ``goodput``.
        statistic: ``p99``, ``mean``, ``min``, ``max``; empty for a rate.
        judge: Who judges.

    Raises:
        RuleError: There is no such number.
    """

    __hash__ = None  # type: ignore[assignment]  # compares with texts, so no hash would fit

    @plainly
    def __init__(self, key: str, statistic: str, judge: Judge) -> None:
        self._judge = judge
        metric, basis = parse_key(key)
        parsed = parse_statistic(statistic) if statistic else None
        self._blank = Rule(metric=metric, basis=basis, statistic=parsed, operator=Operator.AT_MOST, limit=0.0)

    @property
    def unit(self) -> str:
        """``ns``, ``tokens``, ``tokens/s``, ``requests/s`` or ``share``."""
        return self._blank.unit

    @property
    def value(self) -> float | None:
        """In ``unit``; None without samples."""
        return self._judge.look(self._blank).observed

    def __float__(self) -> float:
        value = self.value
        if value is None:
            raise ValueError(f"{self!r}: there is no sample")
        return value

    def __repr__(self) -> str:
        statistic = f" {self._blank.statistic}" if self._blank.statistic else ""
        return f"{self._blank.key}{statistic} = {quantity(self.value, self.unit)}"

    def __le__(self, limit: object) -> Check:
        return self.compared("<=", limit)

    def __lt__(self, limit: object) -> Check:
        return self.compared("<", limit)

    def __ge__(self, limit: object) -> Check:
        return self.compared(">=", limit)

    def __gt__(self, limit: object) -> Check:
        return self.compared(">", limit)

    @plainly
    def compared(self, operator: str, limit: object) -> Check:
        """The comparison, judged.

        Raises:
            RuleError: The limit has no unit, or another one.
            TypeError: It is no limit at all.
        """
        if isinstance(limit, bool) or not isinstance(limit, str | int | float):
            raise TypeError(f"{self!r} can be compared with a limit such as '500ms', not with {limit!r}")
        rule = rule_from(self._blank.key, f"{self._blank.statistic or ''} {operator} {limit}".strip())
        return Check(self._judge.judge(rule))
