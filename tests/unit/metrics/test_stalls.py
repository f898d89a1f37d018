"""Stalls: gaps over the scenario's limit, as a metric and as objectives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from harness.metrics import Missing, metric
from harness.sla.errors import RuleError
from harness.sla.grammar import rule_from, rules_from
from harness.sla.judge import judge
from harness.sla.keywords import rules_of_keywords
from harness.sla.preconditions import demand_judgeable
from harness.summary import Summarizer
from harness.terms import NO_TERMS, Terms
from harness.window import Window
from reports.result import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reports.result import RuleResult
    from tests.conftest import MakeRecord

TERMS = Terms(stall_limit_ns=1_000_000_000)


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ((100, 110, 1_111, 2_112), 2),
        ((100, 1_100), 0),  # as long as the limit is no stall
        ((100, 1_100.001), 1),
        ((5_000,), 0),
    ],
)
def test_gaps_over_the_limit_are_counted(
    make_record: MakeRecord, chunks: tuple[float, ...], expected: int
) -> None:
    record = make_record(chunks=chunks)
    assert metric("stalls").under(TERMS).values(record, 0) == (expected,)


@pytest.mark.parametrize(
    ("fields", "terms", "reason"),
    [
        ({}, NO_TERMS, "no stall limit"),
        ({"streamed": False}, TERMS, "in one piece"),
        ({"chunks": (), "outcome": "ok_empty"}, TERMS, "no token"),
    ],
)
def test_none_without_its_inputs(
    make_record: MakeRecord, fields: dict[str, Any], terms: Terms, reason: str
) -> None:
    found = metric("stalls").under(terms).values(make_record(**fields), 0)
    assert isinstance(found, Missing)
    assert reason in found


@pytest.mark.parametrize(
    ("condition", "canonical"),
    [
        ("p99 <= 0", "stalls p99 <= 0"),
        ("mean < 0.1 stalls", "stalls mean < 0.1"),
        ("max < 1 stall", "stalls max < 1"),
    ],
)
def test_canonical_form(condition: str, canonical: str) -> None:
    rule = rule_from("stalls", condition)
    assert str(rule) == canonical
    assert rule_from(rule.key, rule.condition) == rule


def test_as_keywords() -> None:
    rules = rules_of_keywords({"stalls_p99": 0, "stalls_mean": 0.1, "stalls_max": "<2"})
    assert list(map(str, rules)) == ["stalls p99 <= 0", "stalls mean <= 0.1", "stalls max < 2"]


@pytest.mark.parametrize(
    ("condition", "said"),
    [("p99 < 1s", "no number of stalls"), ("p99 < 1%", "no number of stalls"), ("< 1", "write 'p99 <= 0'")],
)
def test_what_is_no_objective_on_stalls(condition: str, said: str) -> None:
    with pytest.raises(RuleError, match=said):
        rule_from("stalls", condition)


def test_an_answer_in_one_piece_has_none() -> None:
    with pytest.raises(RuleError, match="answers in one piece"):
        demand_judgeable(rules_from({"stalls": ["max < 1"]}), loop="open", streaming=False)


def _judged(make_record: MakeRecord, condition: str, stalls: Iterable[int]) -> RuleResult:
    rules = rules_from({"stalls": [condition]})
    summarizer = Summarizer(Window(), "open", rules=rules, terms=TERMS)
    for index, num in enumerate(stalls):
        chunks = (100.0, 110.0, *(110 + 2_000 * (i + 1) for i in range(num)))
        summarizer.add(make_record(index, due=10.0 * index, chunks=chunks))
    return judge(rules, summarizer.snapshot()).rules[0]


def _strewn(num: int, *stalled: int) -> list[int]:
    return list(np.random.default_rng(1).permutation([*stalled, *[0] * (num - len(stalled))]))


def test_share_of_requests_with_a_stall(make_record: MakeRecord) -> None:
    """p99 <= 0: at most 1 % may have one. The exact rule needs 299 without, 473 with one."""
    assert _judged(make_record, "p99 <= 0", [0] * 299).verdict is Verdict.PASS
    assert _judged(make_record, "p99 <= 0", [0] * 298).verdict is Verdict.INCONCLUSIVE
    many = _judged(make_record, "p99 <= 0", _strewn(500, *[1] * 15))
    assert many.verdict is Verdict.FAIL
    assert "15 of 500 over the limit" in many.message


def test_the_largest_number_is_exact(make_record: MakeRecord) -> None:
    assert _judged(make_record, "max <= 2", [0, 2, 1]).verdict is Verdict.PASS
    assert _judged(make_record, "max < 2", [0, 2, 1]).verdict is Verdict.FAIL


@pytest.mark.parametrize(("num", "verdict"), [(58, Verdict.INCONCLUSIVE), (59, Verdict.PASS)])
def test_few_requests_without_a_stall_prove_no_mean(
    make_record: MakeRecord, num: int, verdict: Verdict
) -> None:
    """Nothing but zeros have a bound of zero; the share of requests with a stall isn't known so well."""
    judged = _judged(make_record, "mean <= 0.05", [0] * num)
    assert (judged.verdict, judged.observed) == (verdict, 0)
    assert judged.high == pytest.approx(1 - 0.05 ** (1 / num))
    assert judged.more_needed == (1 if verdict is Verdict.INCONCLUSIVE else None)


def test_stalls_that_come_by_tens_are_a_larger_mean(make_record: MakeRecord) -> None:
    """2 of 1,000 with 10 each: 0.02 a request, and at most 0.063 by the share of them."""
    judged = _judged(make_record, "mean < 0.03", _strewn(1000, 10, 10))
    assert judged.observed == pytest.approx(0.02)
    assert judged.verdict is Verdict.INCONCLUSIVE
    assert judged.high is not None
    assert judged.high >= 0.0628


def test_a_mean_that_is_missed(make_record: MakeRecord) -> None:
    assert _judged(make_record, "mean < 0.05", _strewn(1000, *[1] * 150)).verdict is Verdict.FAIL


def test_a_stalled_request_is_no_good_one(make_record: MakeRecord) -> None:
    rules = rules_from({"stalls": ["p50 <= 0"], "attainment": [">= 50%"]})
    summarizer = Summarizer(Window(), "open", rules=rules, terms=TERMS)
    for index in range(100):
        chunks = (100.0, 1_200.0) if index % 10 == 0 else (100.0, 110.0)
        summarizer.add(make_record(index, due=10.0 * index, chunks=chunks))
    assert summarizer.snapshot().rates["attainment"].value == 0.9
