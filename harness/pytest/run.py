"""A finished run, as a test sees it."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

from harness.pytest.measured import Judge, Measured, trusted
from harness.pytest.of_baseline import OfBaseline
from harness.pytest.plainly import plainly
from harness.pytest.request import Request
from harness.pytest.table import complaint_of, places
from harness.rates import CLASS_OF, ERROR_RATE, UNITS
from harness.sla.error_classes import share_of
from harness.sla.errors import RuleError
from harness.sla.grammar import keys_of_values
from harness.sla.judge import Judgement
from harness.sla.keywords import rules_of_keywords
from harness.sla.quantity import write_number
from reports.result import Verdict
from scenarios.suggestions import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence
    from pathlib import Path

    from harness.comparison.side import Side
    from harness.pytest.measured import AnyRule
    from harness.pytest.spine import FinishedRun
    from harness.pytest.table import Complaint, Judged
    from harness.pytest.undecided import Undecided
    from reports.result import ErrorClass, Result, RuleResult

__tracebackhide__ = True


class Run:
    """What ``load(...)`` returns: ``run.ttft.p(99)``, ``run.errors.rate``, ``run.requests``, ``run.result``.

    Every metric and every rate is an attribute of its name. In an async test ``await load(...)`` gives it,
    in a sync test ``load(...)`` itself does.

    Attributes:
        result: The whole result, as written to ``result.json``.
        folder: The result folder.
    """

    def __init__(
        self, finished: FinishedRun, folder: Path, undecided: Undecided, baseline: Side | None = None
    ) -> None:
        self.result: Result = finished.result
        self.folder = folder
        self._finished = finished
        self._baseline = baseline
        self._judge = Judge(finished, folder, undecided)

    def __getattr__(self, name: str) -> Values | Measured:
        if name in UNITS:
            return Measured(name, "", self._judge)
        known = keys_of_values()
        if name in known:
            return Values(name, self._judge)
        raise AttributeError(f"a run has no '{name}'; {did_you_mean(name, (*known, *UNITS))}")

    def __await__(self) -> Generator[Any, None, Run]:
        """Itself, so that ``await load(...)`` is right wherever it stands."""
        yield from ()
        return self

    @property
    def verdict(self) -> Verdict | None:
        """Of the scenario's objectives and the marker's; None where there are none."""
        return self.result.verdict

    @property
    def baseline(self) -> OfBaseline:
        """What it is held against: ``assert run.ttft.p(95) <= run.baseline.ttft.p(95) * 1.10``.

        Raises:
            RuleError: Nothing.
        """
        if self._baseline is None:
            raise RuleError("the run has no baseline; give --sla-baseline=NAME, or mark sla_baseline('NAME')")
        return OfBaseline(self._baseline)

    @property
    def errors(self) -> Errors:
        """What failed."""
        return Errors(self.result, self._judge)

    @functools.cached_property
    def requests(self) -> tuple[Request, ...]:
        """Every request, by its place in the schedule."""
        records = sorted(self._finished.records, key=lambda record: record.index)
        return tuple(Request(record, self.result.loop) for record in records)

    @property
    def judged(self) -> tuple[Judged, ...]:
        """The objectives of scenario and marker, then the comparisons that the test made.

        None of them is met by a run that can't be trusted.
        """
        stated = {rule.rule: trusted(rule, self.result.causes) for rule in self.result.rules}
        judged = stated | self._judge.said
        return self._with_errors(judged.values())

    @plainly
    def check(self, **objectives: object) -> None:
        """Judge objectives, written as in the marker, all at once.

        Raises:
            AssertionError: One of them isn't met, is undecided, or can't be judged.
            RuleError: One of them is no objective.
        """
        if not objectives:
            raise RuleError("check() judges nothing; write an objective, such as check(ttft_p99='500ms')")
        results = self._judge.judge(rules_of_keywords(objectives))
        complaint = self._complaint(Judgement(verdict=None, rules=results, causes=self.result.causes))
        if complaint is None:
            return
        undecided = complaint.verdict is Verdict.INCONCLUSIVE
        if not (undecided and self._judge.undecided.forgives(complaint.text, stacklevel=4)):
            raise AssertionError(complaint.text)

    def complaint(self) -> Complaint | None:
        """What the objectives of scenario and marker have to complain of; None for nothing."""
        verdict, rules, causes = self.result.verdict, self.result.rules, self.result.causes
        return self._complaint(Judgement(verdict=verdict, rules=rules, causes=causes))

    def complaint_of(self, rules: Sequence[AnyRule], baseline: Side | None) -> Complaint | None:
        """The same with objectives of a marker that others who look at this run don't have."""
        judged = self._judge.judge(rules, baseline)
        known = {rule.rule for rule in judged}
        results = (*(rule for rule in self.result.rules if rule.rule not in known), *judged)
        verdict, causes = self.result.verdict, self.result.causes
        return self._complaint(Judgement(verdict=verdict, rules=results, causes=causes))

    def forget(self) -> None:
        """What was said of a shared run in one test isn't told in the next."""
        self._judge.said.clear()

    def _complaint(self, judgement: Judgement) -> Complaint | None:
        fault = self._finished.fault
        if fault is not None:
            judgement = judgement.invalid(str(fault))
        return complaint_of(judgement, self._with_errors(judgement.rules), places(self.folder))

    def _with_errors(self, results: Iterable[RuleResult]) -> tuple[Judged, ...]:
        return tuple(map(self._judge.beside_error, results))


class Values:
    """A metric's values over the measured requests.

    Args:
        key: The metric, as in objectives.
        judge: Who judges comparisons.
    """

    def __init__(self, key: str, judge: Judge) -> None:
        self._key = key
        self._judge = judge

    def p(self, p: float) -> Measured:
        """A percentile, in per cent: 99, 99.9.

        Raises:
            RuleError: Not between 0 and 100.
        """
        number = isinstance(p, int | float) and math.isfinite(p)
        return Measured(self._key, f"p{write_number(p) if number else p}", self._judge)

    @property
    def mean(self) -> Measured:
        """Their mean."""
        return Measured(self._key, "mean", self._judge)

    @property
    def min(self) -> Measured:
        """The smallest."""
        return Measured(self._key, "min", self._judge)

    @property
    def max(self) -> Measured:
        """The largest."""
        return Measured(self._key, "max", self._judge)

    def __repr__(self) -> str:
        return f"<values of {self._key}>"


class Errors:
    """The failures of a run.

    Args:
        result: Of the run.
        judge: Who judges comparisons.
    """

    def __init__(self, result: Result, judge: Judge) -> None:
        self._result = result
        self._judge = judge

    @property
    def rate(self) -> Measured:
        """Share of measured requests that failed."""
        return Measured(ERROR_RATE, "", self._judge)

    @plainly
    def of(self, kind: str) -> ErrorsOfClass:
        """Those of one class: ``run.errors.of("timeout").rate <= "1%"``.

        Raises:
            RuleError: There is no such class.
        """
        return ErrorsOfClass(share_of(f"{ERROR_RATE}_{kind}"), self._result, self._judge)

    @property
    def count(self) -> int:
        """Number of requests of the whole run that failed."""
        return sum(each.count for each in self._result.errors)

    @property
    def classes(self) -> tuple[ErrorClass, ...]:
        """By class, most frequent first, each with a sample message."""
        return self._result.errors

    def __repr__(self) -> str:
        kinds = (f"{each.count} {each.outcome} {each.detail}".strip() for each in self.classes)
        return f"<{self.count} errors: {', '.join(kinds)}>"


class ErrorsOfClass:
    """The failures of a run that are of one class.

    Args:
        share: The name of their share.
        result: Of the run.
        judge: Who judges comparisons.
    """

    def __init__(self, share: str, result: Result, judge: Judge) -> None:
        self._share = share
        self._result = result
        self._judge = judge

    @property
    def rate(self) -> Measured:
        """Their share of the measured requests."""
        return Measured(self._share, "", self._judge)

    @property
    def count(self) -> int:
        """Their number in the whole run."""
        kind = CLASS_OF[self._share]
        return sum(each.count for each in self._result.errors if each.outcome == kind)

    def __repr__(self) -> str:
        return f"<{self.count} errors: {CLASS_OF[self._share]}>"
