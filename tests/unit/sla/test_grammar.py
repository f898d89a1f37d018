"""Objectives as they are written in scenarios."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import metrics
from harness.rates import SHARE, UNITS
from harness.sla.errors import RuleError
from harness.sla.grammar import rule_from, rules_from
from harness.sla.preconditions import demand_judgeable
from harness.sla.rule import Operator, Rule, Statistic
from scenarios import library
from scenarios.errors import ScenarioError
from scenarios.scenario import load_scenario


@pytest.mark.parametrize(
    ("key", "condition", "canonical"),
    [
        ("ttft", "p99 < 500ms", "ttft p99 < 500ms"),
        ("ttft", "p(99.9)<=1m30s", "ttft p99.9 <= 1m30s"),
        ("ttft", "P95<0.5s", "ttft p95 < 500ms"),
        ("ttft(service)", "mean < 1s", "service_ttft mean < 1s"),
        ("ttft(response)", "mean < 1s", "ttft mean < 1s"),
        ("response_ttft", "mean < 1s", "ttft mean < 1s"),
        ("service_e2e", "max < 2s", "service_e2e max < 2s"),
        ("tpot", " mean  <  50ms ", "tpot mean < 50ms"),
        ("output_tokens", "min >= 1", "output_tokens min >= 1"),
        ("output_tokens", "max <= 100 tokens", "output_tokens max <= 100"),
        ("output_rate_per_user", "p5 >= 20 tokens/s", "output_rate_per_user p5 >= 20 tokens/s"),
        ("error_rate", "< 1%", "error_rate < 1%"),
        ("error_rate", "<0.001", "error_rate < 0.1%"),
        ("error_rate", "<= 0", "error_rate <= 0%"),
        ("attainment", ">= 0.95", "attainment >= 95%"),
        ("goodput", ">= 300/m", "goodput >= 5/s"),
        ("request_rate", "> 2.5 requests/s", "request_rate > 2.5/s"),
        ("output_token_rate", "> 100 tokens/s", "output_token_rate > 100 tokens/s"),
        ("input_token_rate", ">6000 tok/m", "input_token_rate > 100 tokens/s"),
    ],
)
def test_canonical_form(key: str, condition: str, canonical: str) -> None:
    rule = rule_from(key, condition)
    assert str(rule) == canonical
    assert rule_from(rule.key, rule.condition) == rule


@pytest.mark.parametrize(
    ("key", "condition", "said"),
    [
        ("tttf", "p99 < 1s", "did you mean 'ttft'"),
        ("latency", "p99 < 1s", "did you mean 'e2e'"),
        ("errors", "< 1%", "did you mean 'error_rate'"),
        ("http_req_failed", "< 1%", "did you mean 'error_rate'"),
        ("ttft(sevice)", "p99 < 1s", "did you mean 'service'"),
        ("itl(service)", "p99 < 1s", "itl has no bases"),
        ("service_goodput", "> 1/s", "goodput has no bases"),
        ("ttft", "avg < 1s", "did you mean 'mean'"),
        ("ttft", "median < 1s", "did you mean 'p50'"),
        ("ttft", "99 < 1s", "did you mean 'p99'"),
        ("ttft", "p101 < 1s", "between 0 and 100"),
        ("ttft", "p999 < 1s", "p99.9 has a point"),
        ("ttft", "p100 < 1s", "write max"),
        ("ttft", "p0 < 1s", "write min"),
        ("ttft", "< 500ms", "which value of it"),
        ("ttft", "p99 < 500", "no unit"),
        ("ttft", "p99 < 1 parsec", "not a duration"),
        ("ttft", "p99 == 1s", "can't be judged"),
        ("ttft", "p99 500ms", "no condition"),
        ("ttft", "", "no condition"),
        ("ttft", "p99 < 0s", "can never hold"),
        ("ttft", "p99 >= 0s", "always holds"),
        ("error_rate", "p99 < 1%", "single number"),
        ("error_rate", "< 5", "write 5% for per cent"),
        ("error_rate", "< 0%", "can never hold"),
        ("error_rate", "<= 100%", "always holds"),
        ("goodput", ">= 0.95", "a share of requests is 'attainment'"),
        ("goodput", ">= 5", "no rate of requests"),
        ("output_token_rate", "> 100", "write 100 tokens/s"),
        ("output_tokens", "min >= 1.5s", "no number of tokens"),
    ],
)
def test_B1_01_mistake_is_refused_with_the_remedy(key: str, condition: str, said: str) -> None:
    with pytest.raises(RuleError) as caught:
        rule_from(key, condition)
    assert said in str(caught.value)
    assert str(caught.value).startswith(f"thresholds: {key}: ")


def test_mistake_is_one_of_the_scenario() -> None:
    """So that it ends a command as any other mistake in the scenario does."""
    assert issubclass(RuleError, ScenarioError)


def test_rules_keep_their_order_and_come_once() -> None:
    rules = rules_from({"ttft": ["p99 < 1s", "p99<1000ms"], "tpot": ["mean < 1s"]})
    assert [str(rule) for rule in rules] == ["ttft p99 < 1s", "tpot mean < 1s"]


@pytest.mark.parametrize("name", library.names())
def test_library_scenario_can_be_judged(name: str) -> None:
    scenario = load_scenario(name)
    demand_judgeable(
        rules_from(scenario.thresholds),
        loop=scenario.schedule().loop,
        deadlines=scenario.token_deadlines is not None,
    )


@given(
    st.sampled_from(metrics.names()),
    st.sampled_from(["mean", "min", "max", "p50", "p99.9", "p0.5"]),
    st.sampled_from(list(Operator)),
    st.integers(1, 10**14),
)
def test_written_rule_reads_back(metric: str, statistic: str, operator: Operator, limit: int) -> None:
    p = float(statistic[1:]) if statistic[0] == "p" else None
    parsed = Statistic("percentile" if p else statistic, p)
    basis = "service" if metrics.metric(metric).has_bases else None
    is_share = metrics.metric(metric).unit == SHARE
    value = (limit % 999 + 1) / 1_000 if is_share else float(limit % 10**9 + 1)
    rule = Rule(metric=metric, basis=basis, statistic=parsed, operator=operator, limit=value)
    assert rule_from(rule.key, rule.condition) == rule


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("p99 < 500ms", "ttft < 500ms"),
        ("mean <= 1s", "ttft <= 1s"),
    ],
)
def test_objective_of_one_request(condition: str, expected: str) -> None:
    assert rule_from("ttft", condition).objective() == expected


@pytest.mark.parametrize(("key", "condition"), [("itl", "p99 < 1s"), ("error_rate", "< 1%")])
def test_rates_and_tokens_say_nothing_of_one_request(key: str, condition: str) -> None:
    assert rule_from(key, condition).objective() is None


@pytest.mark.parametrize("name", UNITS)
def test_every_rate_has_an_example_that_is_right(name: str) -> None:
    """The message about a wrong condition shows one."""
    with pytest.raises(RuleError) as caught:
        rule_from(name, "nonsense")
    example = str(caught.value).split("write '")[1].rstrip("'")
    assert rule_from(name, example)
