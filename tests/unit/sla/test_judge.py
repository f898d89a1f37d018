"""Verdicts of rules and of runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.record import Outcome, Record
from harness.sla.grammar import rules_from
from harness.sla.judge import Judgement, judge
from harness.summary import Summarizer
from harness.window import Window
from reports.result import Verdict

if TYPE_CHECKING:
    from tests.unit.sla.conftest import MakeHealth, Take

MS = 1_000_000


def _only(judgement: Judgement) -> Any:
    (result,) = judgement.rules
    return result


def test_B1_01_no_request_is_invalid(take: Take) -> None:
    judgement = judge(*take({"ttft": ["p95 < 500ms"]}))
    assert judgement.verdict is Verdict.INVALID
    assert _only(judgement).observed is None
    assert judgement.causes == ("no request was measured: run longer, or shorten warm-up and cool-down",)


@pytest.mark.parametrize("thresholds", [{}, {"ttft": ["p95 < 500ms"]}, {"error_rate": ["< 50%"]}])
def test_B1_01_no_success_is_never_a_pass(take: Take, thresholds: dict[str, list[str]]) -> None:
    judgement = judge(*take(thresholds, failed=100))
    assert judgement.verdict is Verdict.INVALID
    assert "no request succeeded, 100 failed" in judgement.causes[0]


@pytest.mark.parametrize(
    ("failed", "verdict"), [(1, Verdict.PASS), (9, Verdict.INCONCLUSIVE), (20, Verdict.FAIL)]
)
def test_B1_03_error_budget_of_a_tenth_of_a_per_cent(take: Take, failed: int, verdict: Verdict) -> None:
    """One error in 10,000 is no reason to fail."""
    judgement = judge(*take({"error_rate": ["< 0.1%"]}, [100] * (10_000 - failed), failed=failed))
    assert judgement.verdict is verdict
    assert _only(judgement).observed == failed / 10_000


def test_B1_05_value_is_printed_so_that_it_agrees_with_the_verdict(take: Take) -> None:
    """499.96 ms is not written as 500 beside a limit of < 500 ms."""
    result = _only(judge(*take({"tpot": ["max < 20.004ms"]}, [100] * 50)))
    assert result.verdict is Verdict.PASS
    assert "20 ms is below 20.004 ms" in result.message
    result = _only(judge(*take({"ttft": ["max < 500ms"]}, [499.96] * 50)))
    assert (result.verdict, result.observed) == (Verdict.PASS, 499.96 * MS)
    assert re.match(r"499\.96 ms is below 500 ms", result.message)


def test_B1_05_share_above_its_limit_passes(take: Take) -> None:
    rules, snapshot = take({"ttft": ["p50 < 500ms"], "attainment": [">= 0.95"]}, [100] * 988 + [900] * 12)
    result = judge(rules, snapshot).rules[1]
    assert (result.verdict, result.observed) == (Verdict.PASS, 0.988)


def test_B2_05_p99_of_twenty_is_no_pass(take: Take) -> None:
    result = _only(judge(*take({"ttft": ["p99 < 500ms"]}, [100] * 20)))
    assert (result.verdict, result.more_needed, result.high) == (Verdict.INCONCLUSIVE, 279, None)
    assert "0 of 20 over the limit; 279 more samples would decide (299 in all)" in result.message


@pytest.mark.parametrize(("n", "verdict"), [(298, Verdict.INCONCLUSIVE), (299, Verdict.PASS)])
def test_B2_05_p99_passes_from_299_samples_on(take: Take, n: int, verdict: Verdict) -> None:
    assert judge(*take({"ttft": ["p99 < 500ms"]}, [100] * n)).verdict is verdict


def test_confidence_is_the_callers(take: Take) -> None:
    rules, snapshot = take({"ttft": ["p99 < 500ms"]}, [100] * 300)
    assert judge(rules, snapshot, confidence=0.99).verdict is Verdict.INCONCLUSIVE
    assert judge(rules, snapshot, confidence=0.90).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("key", "condition", "verdict"),
    [
        ("ttft", "p90 < 500ms", Verdict.PASS),
        ("ttft", "p90 < 80ms", Verdict.FAIL),
        ("ttft", "p10 > 80ms", Verdict.PASS),
        ("ttft", "p10 > 500ms", Verdict.FAIL),
        ("ttft", "p90 <= 100ms", Verdict.PASS),
        ("ttft", "p90 < 100ms", Verdict.FAIL),
        ("ttft", "p10 >= 100ms", Verdict.PASS),
        ("ttft", "p10 > 100ms", Verdict.FAIL),
        ("ttft", "mean < 104ms", Verdict.PASS),
        ("ttft", "mean < 102ms", Verdict.INCONCLUSIVE),
        ("ttft", "mean < 100ms", Verdict.INCONCLUSIVE),
        ("ttft", "mean < 96ms", Verdict.FAIL),
        ("ttft", "max <= 100ms", Verdict.PASS),
        ("ttft", "max < 100ms", Verdict.FAIL),
        ("ttft", "min >= 100ms", Verdict.PASS),
        ("output_tokens", "min >= 1", Verdict.PASS),
        ("output_tokens", "min >= 3", Verdict.FAIL),
        ("tpot", "mean < 50ms", Verdict.PASS),
        ("itl", "p99 < 50ms", Verdict.INCONCLUSIVE),
        ("output_rate_per_user", "p10 >= 40 tokens/s", Verdict.PASS),
        ("error_rate", "<= 0%", Verdict.PASS),
        ("error_rate", "< 5%", Verdict.PASS),
        ("error_rate", "< 1%", Verdict.INCONCLUSIVE),
        ("request_rate", ">= 50/s", Verdict.PASS),
        ("request_rate", ">= 500/s", Verdict.FAIL),
        ("output_token_rate", "> 100 tokens/s", Verdict.PASS),
    ],
)
def test_rule_on_a_hundred_equal_requests(take: Take, key: str, condition: str, verdict: Verdict) -> None:
    """TTFT 100 ms, two tokens 20 ms apart, a request every 10 ms."""
    assert _only(judge(*take({key: [condition]}, [100] * 100))).verdict is verdict


def test_error_rate_of_nothing_fails_with_the_first_error(take: Take) -> None:
    assert judge(*take({"error_rate": ["<= 0%"]}, [100] * 100, failed=1)).verdict is Verdict.FAIL


def test_more_failures_than_successes_need_an_objective(take: Take) -> None:
    """A4-08: 499 of 500 refused and nothing asked about errors."""
    judgement = judge(*take({}, [100], failed=499))
    assert judgement.verdict is Verdict.INVALID
    assert "499 of 500 requests failed" in judgement.causes[0]
    assert judge(*take({"error_rate": ["< 1%"]}, [100], failed=499)).verdict is Verdict.FAIL


def test_no_rules_and_nothing_wrong_is_no_verdict(take: Take) -> None:
    assert judge(*take({}, [100] * 5)).verdict is None


def test_worst_verdict_is_that_of_the_run(take: Take) -> None:
    rules, snapshot = take({"ttft": ["p50 < 500ms", "p99 < 500ms", "p50 < 50ms"]}, [100] * 50)
    verdicts = [result.verdict for result in judge(rules, snapshot).rules]
    assert verdicts == [Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.FAIL]
    assert judge(rules, snapshot).verdict is Verdict.FAIL
    assert judge(rules[:2], snapshot).verdict is Verdict.INCONCLUSIVE


def test_margin_within_the_harness_error_is_invalid(take: Take, make_health: MakeHealth) -> None:
    health = make_health(loop_lag_p99=6 * MS)
    for limit, verdict in (("p50 < 105ms", Verdict.INVALID), ("p50 < 107ms", Verdict.PASS)):
        result = _only(judge(*take({"ttft": [limit]}, [100] * 50, health=health), health))
        assert result.verdict is verdict
    assert (
        judge(*take({"ttft": ["p50 < 95ms"]}, [100] * 50, health=health), health).verdict is Verdict.INVALID
    )


def test_lateness_in_sending_eats_the_margin_of_response_times_only(
    take: Take, make_health: MakeHealth
) -> None:
    health = make_health(schedule_lag_p99=50 * MS)
    thresholds = {"ttft": ["p50 < 140ms"], "service_ttft": ["p50 < 140ms"]}
    response, service = judge(*take(thresholds, [100] * 50, health=health), health).rules
    assert (response.verdict, service.verdict) == (Verdict.INVALID, Verdict.PASS)
    assert "requests were sent late" in response.message


def test_A6_01_waiting_behind_a_cap_is_no_error_of_the_harness(take: Take, make_health: MakeHealth) -> None:
    health = make_health(schedule_lag_p99=7_600 * MS)
    rules, snapshot = take({"ttft": ["p50 < 140ms"]}, [100] * 50, health=health, capped=True)
    assert judge(rules, snapshot, health).verdict is Verdict.PASS


def test_harness_error_of_two_tokens_is_that_of_their_interval(take: Take, make_health: MakeHealth) -> None:
    health = make_health(loop_lag_p99=6 * MS)
    _, snapshot = take({}, [100] * 50, health=health)
    errors = {str(series): error for series, error in snapshot.client_errors.items()}
    assert (errors["itl"], errors["tpot"], errors["output_tokens"]) == (6 * MS, 6 * MS, None)


def test_dropped_arrivals_are_invalid(take: Take, make_health: MakeHealth) -> None:
    judgement = judge(*take({"ttft": ["p50 < 1s"]}, [100] * 50), make_health(dropped_arrivals=3))
    assert judgement.verdict is Verdict.INVALID
    assert judgement.rules[0].verdict is Verdict.PASS
    assert "3 arrivals were due and never sent" in judgement.causes[0]


def test_sending_slower_than_planned_is_invalid(make_health: MakeHealth) -> None:
    rules = rules_from({"service_e2e": ["p50 < 1h"]})
    judgements = []
    for slowed in (1.02, 1.2):
        summarizer = Summarizer(Window(), "open", rules=rules)
        for i in range(100):
            due, sent = i * 10 * MS, round(i * 10 * MS * slowed)
            summarizer.add(
                Record(index=i, due_ns=due, sent_ns=sent, done_ns=sent + MS, outcome=Outcome.OK_EMPTY)
            )
        judgements.append(judge(rules, summarizer.snapshot(), make_health()))
    assert [judgement.verdict for judgement in judgements] == [Verdict.PASS, Verdict.INVALID]
    assert "83.33 requests/s were sent where 100 were due (-16.7 %)" in judgements[1].causes[0]


def test_sending_faster_than_planned_is_never_told_to_slow_down(make_health: MakeHealth) -> None:
    """The first request was sent late, and the last in time."""
    summarizer = Summarizer(Window(), "open")
    for i in range(100):
        due, sent = i * 10 * MS, max(i * 10, 300) * MS
        summarizer.add(Record(index=i, due_ns=due, sent_ns=sent, done_ns=sent + MS, outcome=Outcome.OK_EMPTY))
    (cause,) = judge((), summarizer.snapshot(), make_health()).causes
    assert "143.5 requests/s were sent where 100 were due (+43.5 %)" in cause
    assert "lower the rate" not in cause
    assert judge((), summarizer.snapshot(), make_health(), with_pace=False).causes == ()


def test_value_beyond_an_hour_is_invalid(take: Take) -> None:
    judgement = judge(*take({"ttft": ["p50 < 1s"]}, [*[100.0] * 50, 2 * 3_600_000.0]))
    assert judgement.verdict is Verdict.INVALID
    assert any("longer than a histogram holds" in cause for cause in judgement.causes)


TIMES = st.lists(st.sampled_from([50.0, 99.9996, 100.0, 100.1, 250.0]), min_size=1, max_size=120)
CONDITIONS = st.builds(
    "{} {} {}ms".format,
    st.sampled_from(["p50", "p90", "p99", "mean", "max", "min", "p5"]),
    st.sampled_from(["<", "<=", ">", ">="]),
    st.sampled_from([50, 99.999, 100, 100.05, 249.9]),
)


def _records(times: list[float]) -> list[Record]:
    ends = [round(each * MS) for each in times]
    return [
        Record(index=i, due_ns=0, sent_ns=0, done_ns=end, outcome=Outcome.OK_EMPTY)
        for i, end in enumerate(ends)
    ]


@settings(max_examples=200, deadline=None)
@given(TIMES, CONDITIONS)
def test_verdict_value_and_bounds_never_disagree(times: list[float], condition: str) -> None:
    """A PASS has value and bound on the good side, a FAIL on the bad side; bounds enclose the value."""
    rules = rules_from({"e2e": [condition]})
    summarizer = Summarizer(Window(), "closed", rules=rules)
    for record in _records(times):
        summarizer.add(record)
    result = _only(judge(rules, summarizer.snapshot()))
    (rule,) = rules
    if result.verdict is Verdict.PASS:
        assert rule.holds(result.observed)
    if result.verdict is Verdict.FAIL:
        assert not rule.holds(result.observed)
    if rule.statistic is not None and rule.statistic.name not in ("max", "min"):
        decisive = result.high if rule.operator.is_ceiling == (result.verdict is Verdict.PASS) else result.low
        if result.verdict in (Verdict.PASS, Verdict.FAIL):
            assert decisive is not None
            assert rule.holds(decisive) == (result.verdict is Verdict.PASS)
        assert (result.low or 0) <= result.observed <= (result.high or result.observed)
