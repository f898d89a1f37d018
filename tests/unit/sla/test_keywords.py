"""Objectives as keywords."""

from __future__ import annotations

import pytest

from harness.sla.errors import RuleError
from harness.sla.keywords import rules_of_keywords


@pytest.mark.parametrize(
    ("name", "value", "canonical"),
    [
        ("ttft_p99", "500ms", "ttft p99 <= 500ms"),
        ("ttft_p99", "<500ms", "ttft p99 < 500ms"),
        ("ttft_p99_9", "1s", "ttft p99.9 <= 1s"),
        ("service_ttft_p50", "1s", "service_ttft p50 <= 1s"),
        ("tpot_mean", "50ms", "tpot mean <= 50ms"),
        ("stall_max_p99", "1s", "stall_max p99 <= 1s"),
        ("stall_max_max", "1s", "stall_max max <= 1s"),
        ("output_tokens_min", 1, "output_tokens min >= 1"),
        ("output_tokens_max", 100, "output_tokens max <= 100"),
        ("output_rate_per_user_p5", "20 tokens/s", "output_rate_per_user p5 >= 20 tokens/s"),
        ("error_rate", "<1%", "error_rate < 1%"),
        ("error_rate", 0.01, "error_rate <= 1%"),
        ("attainment", 0.95, "attainment >= 95%"),
        ("goodput", ">=5/s", "goodput >= 5/s"),
        ("goodput", "5/s", "goodput >= 5/s"),
        ("output_token_rate", "100 tokens/s", "output_token_rate >= 100 tokens/s"),
    ],
)
def test_keyword(name: str, value: object, canonical: str) -> None:
    assert [str(rule) for rule in rules_of_keywords({name: value})] == [canonical]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("tttf_p99", "1s", "did you mean 'ttft'"),
        ("ttft", "1s", "write ttft_p99"),
        ("stall_max", "1s", "write stall_max_p99"),
        ("ttft_avg", "1s", "did you mean 'mean'"),
        ("ttft_p999", "1s", "p99.9 has a point"),
        ("ttft_p99", 500, "no unit"),
        ("ttft_p99", True, "write a limit"),
        ("ttft_p99", None, "write a limit"),
        ("error_rates", "<1%", "did you mean 'error_rate'"),
        ("goodput", 0.95, "'attainment'"),
    ],
)
def test_B1_01_mistake_is_refused_with_the_remedy(name: str, value: object, said: str) -> None:
    with pytest.raises(RuleError) as caught:
        rules_of_keywords({name: value})
    assert said in str(caught.value)
    assert str(caught.value).startswith(name)
