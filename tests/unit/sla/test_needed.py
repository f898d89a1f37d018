"""How many samples more would decide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.verdicts import response_times, snapshot_of, truth
from harness.sla.dependence import Dependence, of_share
from harness.sla.grammar import rule_from
from harness.sla.judge import judge_rule
from harness.summary.due_order import Samples
from reports.result import Verdict

MS = 1_000_000


def _needed(times_ms: Any, condition: str) -> int | None:
    """In all; None where the run decides."""
    result = judge_rule(rule_from("e2e", condition), snapshot_of(times_ms * MS))
    return None if result.more_needed is None else result.n + result.more_needed


@pytest.mark.parametrize("n", [10, 20, 30, 44, 58])
def test_of_independent_requests_far_below_the_limit_59_do(n: int) -> None:
    """Fewer look as if they hung together; 59 of them would not, and none comes near the limit."""
    rng = np.random.default_rng(n)
    found = [_needed(rng.uniform(100, 120, n), "p95 < 500ms") for _ in range(100)]
    assert all(each is not None and 59 <= each <= 118 for each in found), found
    assert np.mean([each == 59 for each in found]) > 0.9


def test_what_chance_shows_a_longer_run_does_not() -> None:
    """A p99 takes 299 independent ones; 60 that look dependent by chance don't take thousands."""
    rng = np.random.default_rng(7)
    found = [_needed(rng.exponential(100, 60), "p99 < 2s") or 0 for _ in range(200)]
    assert np.median(found) == 299
    assert np.mean([each > 2 * 299 for each in found]) < 0.08
    assert max(found) < 2_500


def test_requests_of_a_queue_take_more() -> None:
    """Where they hang together beyond doubt, more of them would too."""
    limit = f"p95 < {round(2 * truth(0.5, 'p95'))}ns"
    runs = [response_times(0.5, 100, np.random.default_rng([1, repeat])) / MS for repeat in range(60)]
    found = [each for times in runs if (each := _needed(times, limit)) is not None]
    assert 400 < np.median(found) < 1_200
    longer = [response_times(0.5, 700, np.random.default_rng([2, repeat])) for repeat in range(40)]
    verdicts = [judge_rule(rule_from("e2e", limit), snapshot_of(times)).verdict for times in longer]
    assert 0.3 < np.mean([verdict is Verdict.PASS for verdict in verdicts]) < 0.9


def test_an_effect_that_may_be_chance_grows_smaller_with_the_run() -> None:
    values = np.random.default_rng(3).exponential(1, 20)
    samples = Samples(np.ones(20), values, (values > 2).astype(float), (values,))
    found = of_share(samples, 1.0)
    assert found.effect > 2
    assert found.of(24).effect < found.effect
    assert found.of(60).effect == 1
    assert found.needed(300) == 300
    assert Dependence(3.0).of(1_000) == Dependence(3.0)


def test_an_extreme_percentile_is_told_what_it_takes() -> None:
    """The limit is thousands of times away, so moving it would not help."""
    times = np.random.default_rng(1).exponential(100, 1_000)
    result = judge_rule(rule_from("e2e", "p99.9999999 < 500s"), snapshot_of(times * MS))
    assert (result.verdict, result.more_needed) == (Verdict.INCONCLUSIVE, None)
    assert "it takes some 3,000,000,000 samples; state a percentile that is less extreme" in result.message


def test_a_limit_beside_the_value_is_to_be_moved() -> None:
    result = judge_rule(rule_from("e2e", "p50 < 100ms"), snapshot_of(np.array([90.0, 110.0] * 500) * MS))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert "move the limit away from what is measured" in result.message
