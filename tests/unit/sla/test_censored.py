"""Requests that were still waiting when a run ended, or was interrupted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from harness.sla.grammar import rules_from
from harness.sla.judge import judge
from harness.summary import Summarizer
from harness.window import Window
from reports.result import Verdict

if TYPE_CHECKING:
    from tests.conftest import MakeRecord


@pytest.fixture
def verdict(make_record: MakeRecord) -> Any:
    """That of 60 requests of 100 ms and others that were cut after they had waited for so long, in ms."""

    def make(condition: str, *waits: float, interrupted: bool) -> tuple[Verdict, str]:
        rules = rules_from({"e2e": [condition]})
        summarizer = Summarizer(Window(), "closed", rules=rules)
        for index in range(60):
            summarizer.add(make_record(index, due=10 * index, chunks=(50, 100)))
        for index, wait in enumerate(waits, 60):
            done_ns = round((600 + wait) * 1e6)
            summarizer.add(make_record(index, due=600, chunks=(), outcome="cut", done_ns=done_ns))
        (result,) = judge(rules, summarizer.snapshot(), interrupted=interrupted).rules
        return result.verdict, result.message

    return make


@pytest.mark.parametrize("condition", ["p95 < 500ms", "mean < 500ms", "max < 500ms"])
def test_an_interruption_leaves_out_whom_it_cut(verdict: Any, condition: str) -> None:
    """They had no time to end."""
    assert verdict(condition, 0, 30, 200, 499, interrupted=True)[0] is Verdict.PASS


@pytest.mark.parametrize("condition", ["p95 < 500ms", "max < 500ms"])
def test_but_for_whom_it_had_waited_beyond_the_limit(verdict: Any, condition: str) -> None:
    found, message = verdict(condition, 0, 30, 700, interrupted=True)
    assert found is Verdict.INVALID
    assert "1 request had waited for longer than that when the run was interrupted" in message


def test_at_the_end_of_its_grace_all_count(verdict: Any) -> None:
    found, message = verdict("p95 < 500ms", 30, interrupted=False)
    assert found is Verdict.INVALID
    assert "1 request was still waiting when the run ended and may be a miss" in message


def test_one_of_many_changes_nothing(verdict: Any) -> None:
    assert verdict("p50 < 500ms", 700, 700, 700, interrupted=True)[0] is Verdict.PASS
    assert verdict("p50 < 500ms", 30, 30, 30, interrupted=False)[0] is Verdict.PASS
