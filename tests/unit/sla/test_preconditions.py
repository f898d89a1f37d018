"""Rules that a run of some kind can't be judged by."""

from __future__ import annotations

import pytest

from harness.sla.errors import RuleError
from harness.sla.grammar import rules_from
from harness.sla.preconditions import demand_judgeable


@pytest.mark.parametrize("metric", ["ttft", "ttfa", "itl", "chunk_gap", "tpot", "stall_max", "close_lag"])
def test_A5_05_rule_on_tokens_without_a_stream_is_refused_at_start(metric: str) -> None:
    with pytest.raises(RuleError, match=f"has no {metric}; set an objective on e2e"):
        demand_judgeable(rules_from({metric: ["p99 < 1s"]}), loop="open", streaming=False)


def test_rules_on_whole_answers_need_no_stream() -> None:
    rules = rules_from({"e2e": ["p99 < 1s"], "output_tokens": ["min >= 1"], "error_rate": ["< 1%"]})
    demand_judgeable(rules, loop="closed", streaming=False)


@pytest.mark.parametrize(("key", "condition"), [("goodput", ">= 5/s"), ("attainment", ">= 95%")])
def test_goodput_needs_an_objective_of_single_requests(key: str, condition: str) -> None:
    with pytest.raises(RuleError, match="no objective says what a good request is"):
        demand_judgeable(rules_from({key: [condition], "itl": ["p99 < 1s"]}), loop="open")
    demand_judgeable(rules_from({key: [condition], "ttft": ["p99 < 1s"]}), loop="open")


def test_closed_loop_has_no_schedule_to_be_late_for() -> None:
    rules = rules_from({"schedule_lag": ["p99 < 1ms"]})
    demand_judgeable(rules, loop="open")
    with pytest.raises(RuleError, match="no due times"):
        demand_judgeable(rules, loop="closed")
