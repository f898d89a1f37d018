"""Servers that change for good in the midst of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from benchmarks.verdicts import response_times, snapshot_of, truth
from harness.sla import spells
from harness.sla.grammar import rule_from, rules_from
from harness.sla.judge import judge, judge_rule
from harness.sla.turn import find_turn
from harness.summary import Summarizer
from harness.window import Window
from reports.result import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.sla.judge import Judgement
    from reports.result import RuleResult
    from tests.conftest import MakeRecord

MS = 1_000_000


@pytest.fixture
def judged(make_record: MakeRecord) -> Any:
    """The judgement of a run whose requests are due every 100 ms: TTFTs in ms, None for a failure."""

    def make(thresholds: Mapping[str, list[str]], ttfts: list[float | None], every: float = 100) -> Judgement:
        rules = rules_from(thresholds)
        summarizer = Summarizer(Window(), "open", rules=rules)
        for index, ttft in enumerate(ttfts):
            due = every * index
            if ttft is None:
                summarizer.add(make_record(index, due=due, chunks=(), outcome="connect_error"))
            else:
                summarizer.add(make_record(index, due=due, chunks=(ttft, ttft + 20)))
        return judge(rules, summarizer.snapshot())

    return make


def _of_times(times_ms: Any, condition: str) -> RuleResult:
    return judge_rule(rule_from("e2e", condition), snapshot_of(np.asarray(times_ms, float) * MS))


def _slow_at_the_end(num: int, slow: int) -> Any:
    times = 100 + np.random.default_rng(num).uniform(0, 5, num)
    times[num - slow :] += 4_900
    return times


@pytest.mark.parametrize("died_at", [26, 58, 75])
def test_a_server_that_dies_violates_its_error_rate(judged: Any, died_at: int) -> None:
    judgement = judged({"error_rate": ["< 5%"]}, [100] * died_at + [None] * (100 - died_at))
    assert (judgement.verdict, judgement.causes) == (Verdict.FAIL, ())
    failed = 100 - died_at
    assert (
        f"the server changed at {died_at / 10:g} s: before it 0 of {died_at} failed, after it {failed} of "
        f"{failed}" in judgement.rules[0].message
    )


def test_a_few_failures_before_and_a_success_after_it_change_nothing(judged: Any) -> None:
    ttfts = [100.0] * 60 + [None] * 40
    ttfts[10] = ttfts[30] = None
    ttfts[80] = 100.0
    judgement = judged({"error_rate": ["< 5%"], "attainment": [">= 95%"], "ttft": ["p50 < 1s"]}, ttfts)
    assert [rule.verdict for rule in judgement.rules[:2]] == [Verdict.FAIL, Verdict.FAIL]
    assert "before it 2 of 60 failed, after it 39 of 40" in judgement.rules[0].message
    assert "before it 2 of 60 missed an objective" in judgement.rules[1].message


def test_where_a_steady_server_may_well_be_so_bad_it_is_invalid(judged: Any) -> None:
    """In a tenth of its time all may fail, so that one run of ten may end so."""
    judgement = judged({"error_rate": ["< 10%"]}, [100] * 70 + [None] * 30)
    assert judgement.verdict is Verdict.INVALID
    assert "the server changed at 7 s" in judgement.rules[0].message
    assert judgement.rules[0].more_needed is None


def test_an_undecided_error_rate_doesn_t_take_the_cause_away(judged: Any) -> None:
    ttfts = [100] * 20 + [None] * 66 + [100] * 14
    judgement = judged({"error_rate": ["< 10%"]}, ttfts)
    assert judgement.rules[0].verdict is Verdict.INCONCLUSIVE
    assert judgement.verdict is Verdict.INVALID
    assert "66 of 100 requests failed" in judgement.causes[0]
    assert judged({"error_rate": ["< 5%"]}, ttfts).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("num", "slow"), [(100, 10), (100, 50), (300, 222), (10_000, 2_500), (10_000, 5_000)]
)
def test_a_server_that_turns_slow_violates_its_p95(num: int, slow: int) -> None:
    result = _of_times(_slow_at_the_end(num, slow), "p95 < 500ms")
    assert result.verdict is Verdict.FAIL
    assert f"before it 0 of {num - slow:,} over the limit, after it {slow:,} of {slow:,}" in result.message
    assert result.low is not None
    assert 500 * MS < result.low <= (result.observed or 0)


@pytest.mark.parametrize("condition", ["p50 < 500ms", "p90 < 500ms", "mean < 1s"])
def test_of_a_rule_that_half_of_the_requests_may_miss_it_is_invalid(condition: str) -> None:
    result = _of_times(_slow_at_the_end(300, 180), condition)
    assert result.verdict is Verdict.INVALID
    assert "the server changed at" in result.message
    assert "more samples" not in result.message


def test_a_percentile_that_still_holds_does_not_fail() -> None:
    """The last 3 % were slow, and so is the server now; its p95 in this run was not."""
    result = _of_times(_slow_at_the_end(10_000, 300), "p95 < 500ms")
    assert result.verdict is Verdict.INVALID
    assert result.observed == pytest.approx(105 * MS, rel=0.01)


def _turned(times_ms: Any, condition: str = "p90 < 500ms") -> bool:
    return find_turn(rule_from("e2e", condition), snapshot_of(np.asarray(times_ms, float) * MS)) is not None


def test_what_is_no_turn() -> None:
    fast, slow = [100.0] * 50, [5_000.0] * 50
    assert _turned(fast + slow)
    assert not _turned(slow + fast), "it became good"
    assert not _turned(fast + slow + fast), "it came back"
    assert not _turned(fast + [600.0] * 50), "it is not far beyond"
    assert not _turned(fast + [5_000.0] * 9), "a few"
    assert not _turned(np.linspace(100, 5_000, 100)), "it grew"
    assert _turned([1 / each for each in fast + slow], "p10 > 0.005ms"), "small may be bad"


def test_requests_due_at_once_have_no_order(judged: Any) -> None:
    assert (
        "changed" not in judged({"ttft": ["p50 < 1s"]}, [100] * 20 + [5_000] * 20, every=0).rules[0].message
    )


@pytest.mark.parametrize("statistic", ["p50", "p90", "mean"])
@pytest.mark.parametrize("n", [30, 100])
def test_a_queue_doesn_t_turn(n: int, statistic: str) -> None:
    """It fills and empties, at a load of 0.9 by spells of hundreds of requests."""
    rule = rule_from("e2e", f"{statistic} < {round(truth(0.9, statistic))}ns")
    runs = (response_times(0.9, n, np.random.default_rng([n, repeat])) for repeat in range(100))
    assert sum(find_turn(rule, snapshot_of(times_ns)) is not None for times_ns in runs) <= 3


@pytest.mark.parametrize("share", [0.01, 0.05])
@pytest.mark.parametrize("length", [20, 50, 80, 100, 150, 400])
def test_a_server_that_holds_its_share_is_seldom_refuted(share: float, length: int) -> None:
    """Spells of ``length`` requests that all miss, and every run of 100 there is."""
    misses = np.zeros(round(length / share))
    misses[:length] = 1
    around = np.cumsum(np.concatenate([[0], misses, misses[:100]]))
    counts = around[100 : 100 + misses.size] - around[: misses.size]
    refuted = {count for count in set(counts) if spells.refute(count, 100, share, 0.95)}
    assert np.mean([count in refuted for count in counts]) <= 0.05 + 1e-9
    assert spells.refuting_count(100, share, 0.95) == {0.01: 17, 0.05: 51}[share]


def test_the_least_share_is_where_counts_begin_to_refute() -> None:
    for count in (5, 20, 40, 70, 100):
        least = spells.least_share(count, 100, 0.95)
        assert spells.refute(count, 100, 0.999 * least, 0.95)
        assert not spells.refute(count, 100, 1.001 * least, 0.95)
