"""Objectives on the share of one class of errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from harness.rates import ERROR_CLASSES
from harness.record import Outcome
from harness.sla.errors import RuleError
from harness.sla.grammar import rule_from, rules_from
from harness.sla.judge import judge
from harness.sla.keywords import rules_of_keywords
from harness.summary import Summarizer
from harness.window import Window
from reports.result import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from harness.sla.judge import Judgement
    from harness.summary.snapshot import Snapshot
    from tests.conftest import MakeRecord


@pytest.mark.parametrize(
    "key", ["error_rate[timeout]", "error_rate(timeout)", "error_rate_timeout", "error_rate [ timeout ]"]
)
def test_three_ways_to_name_a_class(key: str) -> None:
    rule = rule_from(key, "< 1%")
    assert str(rule) == "error_rate_timeout < 1%"
    assert rule_from(rule.key, rule.condition) == rule
    assert rules_of_keywords({"error_rate_timeout": "<1%"}) == (rule,)


def test_a_bare_limit_of_a_class_may_just_be_reached() -> None:
    assert [str(rule) for rule in rules_of_keywords({"error_rate_rejected": "1%"})] == [
        "error_rate_rejected <= 1%"
    ]


@pytest.mark.parametrize("key", ["error_rate[timout]", "error_rate_timout", "error_rate[]", "error_rate_cut"])
def test_an_unknown_class_is_refused_with_the_list(key: str) -> None:
    with pytest.raises(RuleError, match=r"no class of errors; known: truncated, .*timeout") as caught:
        rules_from({key: ["< 1%"]})
    assert all(each in str(caught.value) for each in ERROR_CLASSES)
    if key.isidentifier():
        with pytest.raises(RuleError, match="no class of errors; known: "):
            rules_of_keywords({key: "1%"})


def test_the_classes_are_those_of_failed_requests() -> None:
    assert {Outcome(each) for each in ERROR_CLASSES} == {each for each in Outcome if each.failed}


def _snapshot(
    make_record: MakeRecord, thresholds: Mapping[str, list[str]], outcomes: Iterable[str]
) -> Snapshot:
    summarizer = Summarizer(Window(), "open", rules=rules_from(thresholds))
    for index, outcome in enumerate(outcomes):
        chunks = (100.0, 120.0) if outcome == "ok" else ()
        summarizer.add(make_record(index, due=10.0 * index, chunks=chunks, outcome=outcome))
    return summarizer.snapshot()


def _judged(
    make_record: MakeRecord, thresholds: Mapping[str, list[str]], outcomes: Iterable[str]
) -> Judgement:
    return judge(rules_from(thresholds), _snapshot(make_record, thresholds, outcomes))


def _mixed(seed: int = 1, **counts: int) -> list[str]:
    outcomes = [outcome for outcome, num in counts.items() for _ in range(num)]
    return list(np.random.default_rng(seed).permutation(outcomes))


def test_each_class_is_judged_by_itself(make_record: MakeRecord) -> None:
    """2 of 1,000 timed out and 60 got a 500; cut requests are in neither number."""
    outcomes = _mixed(ok=938, timeout=2, http_error=60, cut=20)
    thresholds = {"error_rate[timeout]": ["< 1%"], "error_rate[http_error]": ["< 3%"]}
    timeouts, statuses = _judged(make_record, thresholds, outcomes).rules
    assert (timeouts.verdict, timeouts.observed, timeouts.n) == (Verdict.PASS, 0.002, 1000)
    assert "2 of 1000" in timeouts.message
    assert (statuses.verdict, statuses.observed, statuses.n) == (Verdict.FAIL, 0.06, 1000)


def test_the_exact_rule_needs_299_requests_without_one(make_record: MakeRecord) -> None:
    thresholds = {"error_rate[timeout]": ["<= 1%"]}
    enough = _judged(make_record, thresholds, ["ok"] * 299).rules[0]
    short = _judged(make_record, thresholds, ["ok"] * 298).rules[0]
    assert (enough.verdict, short.verdict) == (Verdict.PASS, Verdict.INCONCLUSIVE)
    assert short.more_needed == 1


def test_timeouts_in_one_burst_say_less_than_scattered_ones(make_record: MakeRecord) -> None:
    thresholds = {"error_rate[timeout]": ["< 5%"]}
    burst = _judged(make_record, thresholds, ["ok"] * 485 + ["timeout"] * 30 + ["ok"] * 485).rules[0]
    apart = _judged(make_record, thresholds, _mixed(ok=970, timeout=30)).rules[0]
    assert (burst.observed, apart.observed) == (0.03, 0.03)
    assert (burst.verdict, apart.verdict) == (Verdict.INCONCLUSIVE, Verdict.PASS)
    assert burst.n_eff is not None
    assert burst.n_eff < 200


def test_only_classes_that_an_objective_names_are_shown(make_record: MakeRecord) -> None:
    outcomes = _mixed(ok=90, timeout=5, http_error=5)
    snapshot = _snapshot(make_record, {"error_rate[timeout]": ["< 50%"]}, outcomes)
    assert [name for name in snapshot.rates if name.startswith("error_rate")] == [
        "error_rate",
        "error_rate_timeout",
    ]
    assert snapshot.rates["error_rate"].value == 0.1
    assert snapshot.rates["error_rate_timeout"].value == 0.05


def test_no_request_is_no_share_of_a_class(make_record: MakeRecord) -> None:
    judgement = _judged(make_record, {"error_rate[timeout]": ["< 50%"]}, ["cut"] * 10)
    assert judgement.verdict is Verdict.INVALID
    assert judgement.rules[0].observed is None


def test_parts_put_together_count_as_one(make_record: MakeRecord) -> None:
    rules = rules_from({"error_rate[timeout]": ["< 50%"]})
    whole, *parts = (Summarizer(Window(), "open", rules=rules) for _ in range(3))
    for index, outcome in enumerate(_mixed(ok=30, timeout=4, reset=3)):
        record = make_record(index, due=10.0 * index, chunks=(), outcome=outcome)
        whole.add(record)
        parts[index % 2].add(record)
    parts[0].merge(parts[1].state())
    assert judge(rules, parts[0].snapshot()).rules == judge(rules, whole.snapshot()).rules
