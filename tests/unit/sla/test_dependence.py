"""How many independent samples a sample is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.signal import lfilter

from harness.sla.batch_means import rate_bounds
from harness.sla.dependence import MIN_WORTH, Dependence, autocorrelations, of_mean, of_share
from harness.sla.judge import judge
from harness.summary.due_order import Samples
from reports.result import Verdict

if TYPE_CHECKING:
    from harness.summary.due_order import FloatArray
    from tests.conftest import MakeRecord
    from tests.unit.sla.conftest import Take


def _samples(values: FloatArray, limit: float, sizes: FloatArray | None = None) -> Samples:
    ones = np.ones(values.size)
    return Samples(ones if sizes is None else sizes, values, (values > limit).astype(float), (values,))


def autoregressive(n: int, correlation: float, seed: int = 1) -> FloatArray:
    noise = np.random.default_rng(seed).standard_normal(n)
    scale = np.sqrt(1 - correlation**2)
    return np.asarray(lfilter([scale], [1, -correlation], noise))


def test_autocorrelations_are_those_of_their_definition() -> None:
    values = autoregressive(500, 0.7)
    found = autocorrelations(values)
    centred = values - values.mean()
    plain = [centred[lag:] @ centred[: values.size - lag] / (centred @ centred) for lag in range(500)]
    assert found is not None
    np.testing.assert_allclose(found, plain, atol=1e-12)


def test_equal_values_are_independent() -> None:
    assert of_mean(_samples(np.full(50, 0.1), 1), 0.0) == Dependence()
    assert of_share(_samples(np.full(50, 0.1), 1), 0.0) == Dependence()


@pytest.mark.parametrize("n", [60, 400, 20_000])
def test_independent_values_are_worth_themselves(n: int) -> None:
    values = np.random.default_rng(3).exponential(1, n)
    assert of_share(_samples(values, 2), 1.0).worth(n) == n
    assert of_mean(_samples(values, 2), 1.0).worth(n) == n


@pytest.mark.parametrize("n", [7, 20])
def test_so_few_cannot_show_that_they_are(n: int) -> None:
    values = np.random.default_rng(3).exponential(1, n)
    assert of_share(_samples(values, 2), 1.0).worth(n) < 0.8 * n
    assert of_mean(_samples(values, 2), 1.0).worth(n) < 0.8 * n


@pytest.mark.parametrize("correlation", [0.5, 0.8, 0.95])
def test_the_effect_is_no_less_than_that_of_theory(correlation: float) -> None:
    """The mean of an autoregressive series of order 1: (1 + r) / (1 - r). Raised for its own error."""
    n = 60_000
    exact = (1 + correlation) / (1 - correlation)
    effect = of_mean(_samples(autoregressive(n, correlation), 0), 1.0).effect
    assert exact <= effect <= 2.2 * exact


def test_a_burst_is_one_event() -> None:
    """Twenty misses one after the other, among values that are otherwise independent."""
    values = np.random.default_rng(4).uniform(0, 1, 3_000)
    values[1_000:1_020] = 5
    dependence = of_share(_samples(values, 2), float(values.var()))
    assert dependence.effect > 10
    assert type(dependence.effect) is float
    spread = np.random.default_rng(5).permutation(values)
    assert of_share(_samples(spread, 2), float(values.var())).effect < 3


def test_few_dependent_samples_are_never_enough() -> None:
    assert Dependence().can_hold(1)
    assert not Dependence(2.0).can_hold(2 * MIN_WORTH - 1)
    assert Dependence(2.0).can_hold(2 * MIN_WORTH)
    assert Dependence(2.0).needed(300) == 600
    assert Dependence(2.0).needed(1) == 2 * MIN_WORTH


def test_tokens_of_one_answer_are_alike() -> None:
    """200 answers of 50 tokens: slow ones are slow in all their tokens, so there are 200 samples or so."""
    rng = np.random.default_rng(6)
    slow = rng.uniform(size=200) < 0.1
    misses, sizes = np.where(slow, 50.0, 0.0), np.full(200, 50.0)
    sums = np.where(slow, 500.0, 100.0) + rng.standard_normal(200)
    samples = Samples(sizes, sums, misses, (sums / sizes,))
    dependence = of_share(samples, float((sums / sizes).var()))
    assert 120 <= dependence.worth(10_000) <= 260
    assert type(dependence.effect) is float  # it goes into JSON


def _in_turns(n: int, num_servers: int, spells: int) -> FloatArray:
    """Requests that go round between servers, of which the first is slow in every other spell."""
    times = np.random.default_rng(13).normal(100, 5, n)
    times[::num_servers][np.arange(-(-n // num_servers)) // spells % 2 == 1] += 100
    return times


@pytest.mark.parametrize("num_servers", [2, 3, 4])
def test_unlike_neighbours_do_not_hide_that_every_other_one_is_alike(num_servers: int) -> None:
    """Each server's requests, and so all, are worth fewer than they are: by about the length of spells."""
    values = _in_turns(240, num_servers, 10)
    assert of_share(_samples(values, 150), float(values.var())).effect > 5


def test_what_a_server_always_differs_by_is_no_dependence() -> None:
    """One of two that is twice as slow for good."""
    values = _in_turns(240, 2, 240) + np.where(np.arange(240) % 2, 100, 0)
    assert of_share(_samples(values, 150), float(values.var())).effect < 1.3


def _round(n: int, num_servers: int, seed: int) -> FloatArray:
    """Requests that go round between independent servers, each of them slow and fast for ten of its own."""
    each = [autoregressive(-(-n // num_servers), 0.9, 1_000 * seed + server) for server in range(num_servers)]
    return np.stack(each, axis=1).ravel()[:n]


@pytest.mark.parametrize("num_servers", [2, 5, 8, 11, 16, 32])
def test_however_many_servers_take_turns_dependence_of_each_is_found(num_servers: int) -> None:
    """The variance of the mean is 19 times that of independent ones, whatever the number of servers."""
    n = max(1_000, 90 * num_servers)
    effects = [of_mean(_samples(_round(n, num_servers, seed), 0), 1.0).effect for seed in range(40)]
    assert sum(effect < 19 for effect in effects) <= 2
    assert np.median(effects) < 60


def test_what_each_of_many_servers_always_differs_by_is_no_dependence() -> None:
    levels = np.random.default_rng(2).permutation(16)
    values = 10 * levels[np.arange(1_600) % 16] + np.random.default_rng(3).normal(0, 5, 1_600)
    assert of_mean(_samples(values, 150), float(values.var())).effect < 3


def test_a_few_errors_as_far_apart_as_others_are_no_round() -> None:
    """Ten of a thousand, each by itself: two pairs of them are soon as far apart."""
    effects = []
    for seed in range(60):
        errors = (np.random.default_rng(seed).uniform(size=1_000) < 0.01).astype(float)
        effects.append(of_share(Samples(np.ones(1_000), errors, errors, ()), float(errors.var())).effect)
    assert np.mean(effects) < 1.2


def test_errors_of_ten_servers_that_take_turns_are_alike() -> None:
    """Each fails for a while, a fifth of the time; nothing but the errors is known."""
    for seed in range(10):
        errors = (_round(1_000, 10, seed) > 0.84).astype(float)
        assert of_share(Samples(np.ones(1_000), errors, errors, ()), float(errors.var())).effect > 5


def test_the_message_and_the_result_say_what_samples_are_worth(take: Take, make_record: MakeRecord) -> None:
    rules, snapshot = take({"ttft": ["p95 < 500ms"]}, [100] * 400)
    assert judge(rules, snapshot).rules[0].n_eff == 400
    rules, _ = take({"ttft": ["p95 < 500ms"]})
    result = judge(rules, _of_waves(rules, make_record)).rules[0]
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.n_eff is not None
    assert result.n_eff < 60
    assert f"400 samples worth {result.n_eff:,.0f} independent ones" in result.message
    assert result.more_needed is not None


def _of_waves(rules: Any, make_record: MakeRecord) -> Any:
    """A server that grows slower and faster in turns of 80 requests."""
    from harness.summary import Summarizer
    from harness.window import Window

    summarizer = Summarizer(Window(), "open", rules=rules)
    for index in range(400):
        ttft = 200 + 90 * np.sin(index / 13)
        summarizer.add(make_record(index, due=10 * index, chunks=(ttft, ttft + 20)))
    return summarizer.snapshot()


def test_bounds_of_a_rate_are_wider_where_slices_hang_together() -> None:
    """Counts with a slow swell: batches are made longer until they hang together no more."""
    swell = 100 + 40 * autoregressive(120, 0.95)
    plain = np.random.default_rng(7).permutation(swell)
    widths = []
    for counts in (swell, plain):
        bounds = rate_bounds(counts.astype(np.int64), 1.0, 0.95, float(counts.mean()))
        assert bounds is not None
        widths.append(bounds[1] - bounds[0])
    assert widths[0] > 2 * widths[1]
