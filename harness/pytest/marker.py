"""The marker ``sla``: its rules, and its judgement after the test's body."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.pytest import baseline
from harness.pytest.table import Complaint
from harness.pytest.used_runs import current, own_runs, shared_runs
from harness.sla.contradictions import demand_consistent
from harness.sla.errors import RuleError
from harness.sla.keywords import rules_of_keywords
from reports.result import Verdict
from reports.result.verdict import worst

if TYPE_CHECKING:
    import pytest

    from harness.comparison.side import Side
    from harness.pytest.measured import AnyRule
    from harness.pytest.run import Run
    from harness.sla.rule import Rule

_NO_LOAD = (
    "the test has an sla marker but made no load: call the fixture load "
    "(in an async test: await load(...)), or take the marker out"
)


def rules_of(item: pytest.Item) -> tuple[Rule, ...]:
    """The rules of all ``sla`` markers of a test; of two on the same number the nearer one holds.

    Raises:
        RuleError: One of them is no objective.
    """
    keywords: dict[str, object] = {}
    for mark in reversed(list(item.iter_markers("sla"))):
        if mark.args:
            raise RuleError(f"sla{mark.args!r}: objectives are keywords, such as sla(ttft_p99='500ms')")
        keywords |= mark.kwargs
    return rules_of_keywords(keywords)


def rules_now(config: pytest.Config) -> tuple[Rule, ...]:
    """Those of the test that goes on; none where no test does."""
    item = current(config)
    return () if item is None else rules_of(item)


def fault(item: pytest.Item) -> str | None:
    """What is wrong with the markers themselves; None for nothing.

    What a load has no values for is known only where it is sent: its scenario may be an open loop, or state
    the objectives of single requests that goodput counts.
    """
    try:
        demand_consistent(rules_of(item))
    except RuleError as error:
        return f"sla marker: {error}"
    return baseline.fault(item)


def complaint(item: pytest.Item) -> Complaint | None:
    """What the markers have to say after the body; None for nothing."""
    own, shared = own_runs(item), shared_runs(item)
    if not own and not shared:
        return Complaint(Verdict.INVALID, _NO_LOAD)
    rules: list[AnyRule] = [*rules_of(item), *baseline.relative_rules_of(item)]
    against = baseline.baseline_of(item)
    found = (*(run.complaint() for run in own), *(_of_shared(run, rules, against) for run in shared))
    said = [each for each in found if each is not None]
    if not said:
        return None
    verdict = worst(each.verdict for each in said) or Verdict.PASS
    return Complaint(verdict, "\n\n".join(each.text for each in said))


def _of_shared(run: Run, rules: list[AnyRule], against: Side | None) -> Complaint | None:
    try:
        return run.complaint_of(rules, against)
    except RuleError as error:
        return Complaint(Verdict.INVALID, f"sla marker: {error}")
