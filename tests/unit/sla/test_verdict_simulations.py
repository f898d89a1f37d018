"""Verdicts on simulated servers whose truth is known: wrong in no more than one run of twenty."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import binomtest

from benchmarks.verdicts import (
    ALTERNATING,
    SERVERS,
    decision,
    line,
    rate_line,
    rate_table,
    response_times,
    snapshot_of,
    table,
    truth,
)
from harness.sla.evidence import find
from harness.sla.grammar import rule_from
from harness.sla.statistics import Decision

if TYPE_CHECKING:
    from collections.abc import Callable

REPEATS = 120


def is_credible(share: float) -> bool:
    """Whether a true error rate of 5 % could show so many wrong verdicts by chance."""
    return binomtest(round(share * REPEATS), REPEATS, 0.05, alternative="greater").pvalue > 0.01


@pytest.mark.parametrize("rule", ["p90", "mean"])
@pytest.mark.parametrize("n", [300, pytest.param(1_500, marks=pytest.mark.soak)])
@pytest.mark.parametrize("server", SERVERS)
def test_wrong_verdicts_are_rare_and_the_rest_is_inconclusive(
    server: str, n: int, rule: str, record_property: Callable[[str, object], None]
) -> None:
    """The limit is the truth itself, the hardest there is; looking early costs no error either."""
    found = line(server, n, rule, REPEATS, offsets=())
    record_property("inconclusive", 1 - found.wrong_pass - found.wrong_fail)
    wrong = (found.wrong_pass, found.wrong_fail, found.looks_pass, found.looks_fail)
    assert all(map(is_credible, wrong)), found


@pytest.mark.parametrize("server", ["M/M/1 at 0.8", "M/M/1 at 0.9"])
def test_without_the_order_verdicts_would_be_wrong(server: str) -> None:
    """What all this is for."""
    found = line(server, 1_000, "p95", 40, looks=False, offsets=())
    assert found.naive_pass + found.naive_fail > 0.6


def test_independent_requests_lose_little() -> None:
    """A limit 25 % above the truth: as good as where independence is known."""
    found = line("independent", 2_000, "p95", 60, looks=False)
    assert found.decided[1.25] > 0.8
    assert found.worth > 1_900


def test_the_table_has_a_row_for_each_line() -> None:
    rows = list(table([line("independent", 300, "p90", 3)]))
    assert len(rows) == 3
    assert len({row.count("|") for row in rows}) == 1


@pytest.mark.parametrize("server", SERVERS)
def test_simulated_times_are_those_of_theory(server: str) -> None:
    load = SERVERS[server]
    times_ns = response_times(load, 400_000, np.random.default_rng(1))
    for rule, found in (("mean", times_ns.mean()), ("p95", np.quantile(times_ns, 0.95))):
        assert found == pytest.approx(truth(load, rule), rel=0.1)


def test_a_clear_case_is_decided_even_in_a_queue() -> None:
    times_ns = response_times(0.5, 3_000, np.random.default_rng(2))
    assert decision(snapshot_of(times_ns), "p90", 3 * truth(0.5, "p90")) is Decision.TRUE
    assert decision(snapshot_of(times_ns), "p90", truth(0.5, "p90") / 3) is Decision.FALSE


@pytest.mark.parametrize("n", [100, 300])
@pytest.mark.parametrize("rule", ["p95", "p99", "mean"])
@pytest.mark.parametrize("server", ["M/M/1 at 0.8", "M/M/1 at 0.9"])
def test_a_quiet_stretch_proves_nothing_of_a_queue(server: str, rule: str, n: int) -> None:
    """Short runs, of which some have none of the queue's bursts: their values are all far below the truth."""
    found = line(server, n, rule, REPEATS, looks=False, offsets=())
    assert is_credible(found.wrong_pass), found
    assert is_credible(found.wrong_fail), found


@pytest.mark.parametrize(
    ("n", "rule"),
    [(60, "p95"), *(pytest.param(n, p, marks=pytest.mark.soak) for n, p in ((30, "p90"), (300, "p99")))],
)
def test_requests_that_alternate_are_alike_all_the_same(n: int, rule: str) -> None:
    """Every other one is; neighbours that are unlike made up for it, and gave 20 % of wrong PASSes."""
    found = line(ALTERNATING, n, rule, REPEATS, looks=False, offsets=())
    assert is_credible(found.wrong_pass), found
    assert is_credible(found.wrong_fail), found


@pytest.mark.parametrize(
    ("n", "rule"),
    [
        (29, "p10 >="),
        *(pytest.param(n, p, marks=pytest.mark.soak) for n, p in ((10, "p50 >="), (60, "p5 >="))),
    ],
)
def test_a_busy_stretch_proves_no_floor(n: int, rule: str) -> None:
    """A few requests of a queue that all waited: a quick one is no farther below them than they range."""
    found = line("M/M/1 at 0.9", n, rule, REPEATS, looks=False, offsets=())
    assert is_credible(found.wrong_pass), found
    assert is_credible(found.wrong_fail), found


def test_rates_of_a_server_that_sways_deceive_rarely() -> None:
    lines = [rate_line(server, 64, REPEATS) for server in ("sways, 0.9", "on and off, 5", "Poisson")]
    assert all(is_credible(max(each.wrong_pass, each.wrong_fail)) for each in lines), lines
    assert lines[-1].width < 1.3
    assert len({row.count("|") for row in rate_table(lines)}) == 1


@pytest.mark.parametrize("n", [8, *(pytest.param(n, marks=pytest.mark.soak) for n in (30, 45))])
@pytest.mark.parametrize("rule", ["p50", "p90", "mean"])
@pytest.mark.parametrize("server", SERVERS)
def test_a_few_dozen_samples_look_independent_and_are_not(server: str, rule: str, n: int) -> None:
    """No test finds the dependence of so few."""
    found = line(server, n, rule, REPEATS, looks=False, offsets=())
    assert is_credible(found.wrong_pass), found
    assert is_credible(found.wrong_fail), found


def test_few_samples_decide_where_the_limit_is_far_away() -> None:
    """A queue at half load, 100 requests, which are worth a dozen: a p95 of 59 independent ones."""
    found = line("M/M/1 at 0.5", 100, "p95", 60, looks=False, offsets=(0.2, 5.0))
    assert found.decided[5.0] > 0.4
    assert found.decided[0.2] > 0.8


def test_a_mean_of_samples_worth_a_dozen_is_decided_where_they_differ_little() -> None:
    """100 times of 20 ms that sway by 5 ms: a tail from the smallest on would reach beyond 50 ms."""
    rng = np.random.default_rng(1)
    sway = lfilter([math.sqrt(1 - 0.6**2)], [1, -0.6], rng.standard_normal(100))
    found = find(rule_from("e2e", "mean < 35ms"), snapshot_of(20e6 + 5e6 * sway), 0.95)
    assert found.n_eff is not None
    assert 8 < found.n_eff < 15
    assert found.decision is Decision.TRUE


@pytest.mark.parametrize("statistic", ["p90", "mean"])
@pytest.mark.parametrize(("limit", "expected"), [("< 10s", Decision.TRUE), ("< 1ms", Decision.FALSE)])
def test_values_that_are_nearly_one_decide_of_a_limit_far_away(
    limit: str, expected: Decision, statistic: str
) -> None:
    """80 times of half a second that drift by a microsecond each: hardly a second independent sample."""
    snapshot = snapshot_of(500_000_000 + 1_000.0 * np.arange(80))
    found = find(rule_from("e2e", f"{statistic} {limit}"), snapshot, 0.95)
    assert found.n_eff is not None
    assert found.n_eff < 3
    assert found.decision is expected
