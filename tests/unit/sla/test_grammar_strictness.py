"""What looks like an objective and says nothing, or two things."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from harness.objectives import faults_in, objectives_of
from harness.sla.errors import RuleError
from harness.sla.grammar import rule_from, rules_from
from harness.sla.keywords import rules_of_keywords
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    from collections.abc import Sequence

MANY = "9" * 5_000


@pytest.mark.parametrize(
    ("key", "condition", "said"),
    [
        ("ttft", "p(95 < 1s", "'p(95' is no value of a metric"),
        ("ttft", "p95) < 1s", "'p95)' is no value of a metric"),
        ("ttft", "p\u0669\u0665 < 1s", "is no value of a metric"),
        ("ttft", "p99.99999999999999 < 1s", "more digits than any run can tell apart"),
        ("error_rate", "< 0_1", "'0_1' is not a share"),
        ("error_rate", "< nan", "'nan' is not a share"),
        ("error_rate", "< 1", "write 1% or 100%"),
        ("error_rate", "< 1.0", "write 1% or 100%"),
        ("attainment", ">= 1", "write 1% or 100%"),
        ("token_deadline_attainment", "p5 >= 1", "write 1% or 100%"),
        ("output_tokens", f"min >= {MANY[:400]}", "is no condition"),
        ("ttft", f"p95 < {MANY}s", "is no condition"),
        ("ttft", f"p{MANY} < 1s", "is no condition"),
        ("error_rate", f"< 0.{MANY}%", "is no condition"),
    ],
)
def test_it_is_refused_with_a_short_message(key: str, condition: str, said: str) -> None:
    with pytest.raises(RuleError) as caught:
        rules_from({key: [condition]})
    assert said in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("key", "condition", "canonical"),
    [
        ("ttft", "p0.00001 > 1ms", "ttft p0.00001 > 1ms"),
        ("ttft", "p50 < 1s", "ttft p50 < 1s"),
        ("goodput", "> 0.0001/h", None),
        ("error_rate", "< 0.000001%", "error_rate < 0.000001%"),
        ("error_rate", "< 1e-05", "error_rate < 0.001%"),
        ("output_tokens", f"max <= {MANY[:20]}", None),
        (
            "output_token_rate",
            "< 10000000000000000 tokens/s",
            "output_token_rate < 10000000000000000 tokens/s",
        ),
    ],
)
def test_what_is_written_reads_back(key: str, condition: str, canonical: str | None) -> None:
    rule = rule_from(key, condition)
    assert canonical in (None, str(rule))
    again = rule_from(rule.key, rule.condition)
    assert again.statistic == rule.statistic
    assert again.limit == pytest.approx(rule.limit, rel=1e-11)


@pytest.mark.parametrize(
    ("conditions", "contradict"),
    [
        (("p95 < 1s", "p95 > 2s"), True),
        (("p95 > 2s", "p95 < 1s"), True),
        (("p95 < 1s", "p95 >= 1s"), True),
        (("p95 <= 1s", "p95 >= 1s"), False),
        (("p95 < 1s", "p50 > 2s"), True),
        (("p50 < 1s", "p95 > 2s"), False),
        (("max < 1s", "mean > 2s"), True),
        (("mean < 1s", "min > 2s"), True),
        (("mean < 1s", "p99 > 2s"), False),
        (("p95 < 1s", "p95 < 2s"), False),
    ],
)
def test_what_can_t_hold_together_is_refused_before_any_load(
    conditions: Sequence[str], contradict: bool
) -> None:
    data = {
        "name": "x",
        "load": {"arrivals": "closed", "concurrency": 1, "requests": 1},
        "prompts": {"source": "text", "text": "Hi"},
        "thresholds": {"ttft": list(conditions)},
    }
    scenario = scenario_from(data)
    found = list(faults_in({"ttft": conditions}))
    if contradict:
        assert [place for place, _ in found] == [("ttft", 1)]
        with pytest.raises(RuleError, match="can't both hold"):
            objectives_of(scenario, scenario.outline())
    else:
        assert not found
        assert len(objectives_of(scenario, scenario.outline())) == 2


def test_other_metrics_and_bases_don_t_contradict() -> None:
    assert not list(faults_in({"ttft": ["p95 < 1s"], "service_ttft": ["p95 > 2s"], "e2e": ["p95 > 2s"]}))


def test_a_broken_condition_is_told_once() -> None:
    assert [place for place, _ in faults_in({"ttft": ["p95 << 1s", "p95 > 2s"]})] == [("ttft", 0)]


def test_a_keyword_relative_to_a_baseline_names_the_other_marker() -> None:
    with pytest.raises(RuleError, match=r"sla_baseline\('NAME', ttft_p95='10%'\)"):
        rules_of_keywords({"ttft_p95": "baseline + 10%"})
