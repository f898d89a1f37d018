"""Rules on means: what few samples, equal ones, and those whose tail none shows are worth."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.verdicts import MS, decision, snapshot_of
from harness.recorder import step
from harness.series import series_of
from harness.sla.evidence import find
from harness.sla.grammar import rule_from
from harness.sla.judge import judge_rule
from harness.sla.statistics import Decision
from harness.summary.due_order import Ordered
from reports.histogram import Histogram
from reports.result import Verdict

if TYPE_CHECKING:
    from harness.summary.due_order import FloatArray
    from harness.summary.snapshot import Snapshot
    from reports.result import RuleResult

RUNS = 400


def _judged(condition: str, times_ms: FloatArray | list[float]) -> RuleResult:
    return judge_rule(rule_from("e2e", condition), snapshot_of(np.asarray(times_ms) * MS))


def _attained(shares: FloatArray) -> Snapshot:
    """A closed-loop run of answers that so many of their tokens were in time of."""
    series = series_of("token_deadline_attainment", None, "closed")
    histogram = Histogram()
    histogram.record_many(np.rint(shares / step("share")).astype(np.int64))
    return dataclasses.replace(
        snapshot_of(np.full(shares.size, MS)),
        histograms={series: histogram},
        client_errors={series: None},
        due_order=Ordered(np.arange(shares.size), {str(series): shares}),
    )


@pytest.mark.parametrize("n", [2, 3, 5, 10, 15, 29, 60])
def test_a_fifth_that_is_slow_is_not_overlooked(n: int) -> None:
    """100 ms, or in a fifth of the cases 2 s: the mean is 480 ms. All quick proves nothing in a few."""
    rng = np.random.default_rng(21)
    found = [
        decision(snapshot_of(np.where(rng.random(n) < 0.2, 2_000.0, 100.0) * MS), "mean", 470 * MS)
        for _ in range(RUNS)
    ]
    assert found.count(Decision.TRUE) / RUNS <= 0.07


@pytest.mark.parametrize(
    ("sigma", "n"), [(1.0, 60), (1.0, 100), (1.5, 60), (1.5, 100), (1.5, 300), (2.0, 100)]
)
def test_long_tails_rarely_pass_a_limit_at_their_truth(sigma: float, n: int) -> None:
    """Independent log-normal times."""
    rng, truth = np.random.default_rng(22), 100 * MS * float(np.exp(sigma**2 / 2))
    found = [decision(snapshot_of(100 * MS * rng.lognormal(0, sigma, n)), "mean", truth) for _ in range(RUNS)]
    assert found.count(Decision.TRUE) / RUNS <= 0.09
    assert found.count(Decision.FALSE) / RUNS <= 0.06


def test_two_equal_samples_are_no_pass_and_it_is_said_how_many_would_be() -> None:
    found = _judged("mean < 200ms", [100, 100])
    assert (found.verdict, found.high, found.more_needed) == (Verdict.INCONCLUSIVE, None, 27)
    assert (
        "mean of 2, where fewer than 29 may lack the largest tenth of all; 27 more samples" in found.message
    )
    assert _judged("mean < 200ms", [100] * 28).verdict is Verdict.INCONCLUSIVE
    assert _judged("mean < 200ms", [100] * 29).verdict is Verdict.PASS


def test_equal_samples_leave_room_for_what_none_showed() -> None:
    """A share of 1 - 0.05 ** (1 / n) may be nothing, or twice as long."""
    found = _judged("mean < 104ms", [100] * 100)
    assert found.verdict is Verdict.PASS
    assert found.high == pytest.approx(103 * MS, rel=0.001)
    assert found.low == pytest.approx(97 * MS, rel=0.001)
    near = _judged("mean < 101ms", [100] * 100)
    assert near.verdict is Verdict.INCONCLUSIVE
    assert near.more_needed is not None
    assert _judged("mean < 101ms", [100] * (100 + near.more_needed)).verdict is Verdict.PASS


def test_that_times_are_far_too_long_shows_in_a_few() -> None:
    """No time is below nothing, so five of 100 ms are enough against 50 ms, and three are not."""
    assert _judged("mean < 50ms", [100] * 5).verdict is Verdict.FAIL
    assert _judged("mean < 50ms", [100] * 3).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("n", "verdict"), [(1, "INCONCLUSIVE"), (2, "INCONCLUSIVE"), (28, "INCONCLUSIVE"), (29, "PASS")]
)
def test_all_tokens_in_time_is_judged_like_a_share(n: int, verdict: str) -> None:
    """At least 90 % with 95 % confidence: 29 without a miss, as for a p90."""
    rule = rule_from("token_deadline_attainment", "mean >= 90%")
    found = judge_rule(rule, _attained(np.ones(n)))
    assert found.verdict == verdict
    assert found.high == 1.0
    assert found.low == pytest.approx(0.05 ** (1 / n))
    assert found.more_needed == (None if n == 29 else 29 - n)


@pytest.mark.parametrize("n", [2, 10, 30, 100])
def test_answers_that_were_partly_late_rarely_deceive(n: int) -> None:
    """One in ten has a third of its tokens in time, the rest all but a few."""
    rng = np.random.default_rng(23)
    rule = rule_from("token_deadline_attainment", f"mean >= {0.1 / 3 + 0.9 * 0.98:.6f}")
    found = []
    for _ in range(RUNS):
        shares = np.where(rng.random(n) < 0.1, 1 / 3, 1 - 0.04 * rng.random(n))
        found.append(find(rule, _attained(shares), 0.95).decision)
    assert found.count(Decision.TRUE) / RUNS <= 0.07
    assert found.count(Decision.FALSE) / RUNS <= 0.07
