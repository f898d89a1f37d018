"""Numbers of a run that know how to be compared: ``run.ttft.p(99) <= "500ms"`` is an objective, judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import pytest
from msgspec import structs

from harness.pytest.client_error import client_error_of
from harness.pytest.of_baseline import NumberOfBaseline
from harness.pytest.plainly import plainly
from harness.pytest.table import Judged, places
from harness.sla.errors import RuleError
from harness.sla.grammar import parse_key, parse_statistic, rule_from
from harness.sla.rule import Operator, Rule
from reports.result import Verdict
from reports.units import against, quantity

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from harness.comparison.objectives import RelativeRule
    from harness.comparison.side import Side
    from harness.pytest.spine import FinishedRun
    from harness.pytest.undecided import Undecided
    from reports.result import RuleResult

    AnyRule: TypeAlias = Rule | RelativeRule

__tracebackhide__ = True


class Judge:
    """Judges rules by one run, and remembers what it said.

    Args:
        finished: The run.
        folder: Its result folder.
        undecided: What becomes of a test when one can't be decided.

    Attributes:
        said: Every rule that was judged, by its text.
        folder: As given.
        undecided: Likewise.
        finished: Likewise.
    """

    def __init__(self, finished: FinishedRun, folder: Path, undecided: Undecided) -> None:
        self.said: dict[str, RuleResult] = {}
        self.folder = folder
        self.undecided = undecided
        self.finished = finished
        self._seen: dict[object, tuple[RuleResult, ...]] = {}

    def look(self, rules: Sequence[AnyRule], baseline: Side | None = None) -> tuple[RuleResult, ...]:
        """Judge rules that are stated together, without remembering that they were asked for.

        Args:
            rules: What is asked.
            baseline: What relative ones are held against.
        """
        key = (baseline and baseline.label, *map(str, rules))
        if key not in self._seen:
            stated: dict[str, list[str]] = {}
            for rule in rules:
                stated.setdefault(rule.key, []).append(rule.condition)
            result = self.finished.judged_with(stated, baseline)
            found = {each.rule: trusted(each, result.causes) for each in result.rules}
            self._seen[key] = tuple(found[str(rule)] for rule in rules)
        return self._seen[key]

    def judge(self, rules: Sequence[AnyRule], baseline: Side | None = None) -> tuple[RuleResult, ...]:
        """Judge rules that are stated together."""
        results = self.look(rules, baseline)
        self.said |= {result.rule: result for result in results}
        return results

    def value_of(self, blank: Rule) -> float | None:
        """The number that a rule is about, whatever its limit; None where the run has none."""
        result = self.finished.result
        if (rate := result.rate(blank.metric)) is not None:
            return rate.value
        if blank.is_of_requests:
            summary = result.metric(*blank.series(result.loop))
            if summary is None or not summary.n:
                return None
        return self.look((blank,))[0].observed

    def beside_error(self, result: RuleResult) -> Judged:
        """A verdict with the harness's own error beside it."""
        return Judged(result, client_error_of(result, self.finished.result))


def trusted(judged: RuleResult, causes: tuple[str, ...]) -> RuleResult:
    """The same, INVALID where the run as a whole can't be trusted."""
    if not causes:
        return judged
    return structs.replace(judged, verdict=Verdict.INVALID, message="; ".join((judged.message, *causes)))


_SAID: Final = {
    Verdict.FAIL: "SLA missed",
    Verdict.INCONCLUSIVE: "SLA undecided",
    Verdict.INVALID: "SLA invalid",
    Verdict.PASS: "SLA met",
}


class Check:
    """A comparison, judged.

    True if it passed, or is undecided and the session's settings forgive that; False if it failed. One that
    is undecided or can't be trusted is neither, so that ``assert not ...`` can't pass by it: asking for its
    truth ends the test.

    Args:
        result: The whole verdict.
        judge: Who gave it.
    """

    def __init__(self, result: RuleResult, judge: Judge) -> None:
        self.result = result
        self._judge = judge

    @property
    def judged(self) -> Judged:
        """The verdict, with the harness's own error beside it."""
        return self._judge.beside_error(self.result)

    @property
    def lines(self) -> list[str]:
        """All there is to say of it, and where to look."""
        result, judged = self.result, self.judged
        observed, limit = against(result.observed, result.limit, result.unit)
        return [
            f"{result.rule}: {_SAID[result.verdict]}",
            f"measured {observed}  limit {limit}  margin {judged.margin}  n={result.n:,}",
            f"interval {judged.interval}  client error {judged.error}",
            result.message,
            *places(self._judge.folder),
        ]

    def __bool__(self) -> bool:
        verdict = self.result.verdict
        if verdict in (Verdict.PASS, Verdict.FAIL):
            return verdict is Verdict.PASS
        said = f"{self.result.rule}: {self.result.message}"
        if verdict is Verdict.INCONCLUSIVE and self._judge.undecided.forgives(said):
            return True
        pytest.fail("\n".join(self.lines))

    def __repr__(self) -> str:
        return f"{self.result.verdict}: {self.result.rule}: {self.result.message}"


_ANY: Final = 0.5
"""A limit that numbers of every unit can have, shares too."""


class Measured:
    """One number of a run: a percentile, a mean, a rate, a share.

    ``<``, ``<=``, ``>`` and ``>=`` with a limit (``"500ms"``, ``0.01``, ``"5/s"``) judge it as an objective,
    with the run's confidence. A comparison that can't be decided, or can't be trusted, is neither true nor
    false.

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
        self._blank = Rule(
            metric=metric, basis=basis, statistic=parsed, operator=Operator.AT_MOST, limit=_ANY
        )

    @property
    def unit(self) -> str:
        """``ns``, ``tokens``, ``tokens/s``, ``requests/s`` or ``share``."""
        return self._blank.unit

    @property
    def value(self) -> float | None:
        """In ``unit``; None without samples."""
        return self._judge.value_of(self._blank)

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

    def __eq__(self, limit: object) -> bool:
        raise RuleError(f"{self!r}: '==' can't be judged; use one of {', '.join(Operator)}")

    def __ne__(self, limit: object) -> bool:
        raise RuleError(f"{self!r}: '!=' can't be judged; use one of {', '.join(Operator)}")

    def __bool__(self) -> bool:
        raise RuleError(f"{self!r} by itself is no objective; compare it with a limit, such as <= '500ms'")

    @plainly
    def compared(self, operator: str, limit: object) -> Check:
        """The comparison, judged.

        Raises:
            RuleError: The limit has no unit, or another one.
            TypeError: It is no limit at all.
        """
        return Check(self._judge.judge((self._rule(operator, limit),))[0], self._judge)

    def _rule(self, operator: str, limit: object) -> AnyRule:
        key, statistic = self._blank.key, str(self._blank.statistic or "")
        if isinstance(limit, NumberOfBaseline):
            return limit.rule(key, statistic, operator)
        if isinstance(limit, bool) or not isinstance(limit, str | int | float):
            raise TypeError(f"{self!r} can be compared with a limit such as '500ms', not with {limit!r}")
        return rule_from(key, f"{statistic} {operator} {limit}".strip())
