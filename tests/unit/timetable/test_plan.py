"""Plans: chance drawn by seed and index."""

from __future__ import annotations

import itertools
import statistics
from typing import Any

import pytest

from reference_server.timetable.plan import Plan
from reference_server.timetable.script import make_script

MS = 1_000_000


def plan(index: int = 0, *, seed: int = 0, max_tokens: int | None = None, **fields: Any) -> Plan:
    return Plan(make_script(fields), seed, index, max_tokens)


def offsets(planned: Plan, count: int) -> list[int]:
    return list(itertools.islice(planned.offsets_ns(), count))


def test_constant_script_is_kept_to_the_nanosecond() -> None:
    assert offsets(plan(ttft="50ms", gap="10ms"), 3) == [50 * MS, 60 * MS, 70 * MS]


@pytest.mark.parametrize("distribution", ["exponential", "lognormal"])
def test_distribution_keeps_the_mean(distribution: str) -> None:
    drawn = [plan(i, ttft="50ms", ttft_distribution=distribution).ttft_ns for i in range(4000)]
    assert statistics.fmean(drawn) == pytest.approx(50 * MS, rel=0.1)
    assert len(set(drawn)) > 3900


def test_same_seed_and_index_give_the_same_plan() -> None:
    fields = {"ttft_distribution": "lognormal", "gap_distribution": "exponential", "faults": {"cut": 0.5}}
    first, again = plan(7, seed=3, **fields), plan(7, seed=3, **fields)
    assert (first.fault, offsets(first, 50)) == (again.fault, offsets(again, 50))
    assert offsets(plan(7, seed=4, **fields), 50) != offsets(plan(7, seed=3, **fields), 50)
    assert offsets(plan(8, seed=3, **fields), 50) != offsets(plan(7, seed=3, **fields), 50)


def test_tail_strikes_its_share() -> None:
    drawn = [plan(i, ttft="10ms", tail_share=0.2, tail_factor=5).ttft_ns for i in range(2000)]
    assert set(drawn) == {10 * MS, 50 * MS}
    assert drawn.count(50 * MS) / 2000 == pytest.approx(0.2, abs=0.04)


def test_faults_strike_their_shares() -> None:
    drawn = [plan(i, faults={"reset": 0.3, "http_429": 0.1}).fault for i in range(3000)]
    assert drawn.count("reset") / 3000 == pytest.approx(0.3, abs=0.04)
    assert drawn.count("http_429") / 3000 == pytest.approx(0.1, abs=0.03)


def test_gap_distribution_does_not_change_which_requests_fail() -> None:
    shares = {"cut": 0.5}
    constant = [plan(i, faults=shares).fault for i in range(200)]
    assert constant == [plan(i, faults=shares, gap_distribution="exponential").fault for i in range(200)]


@pytest.mark.parametrize(
    ("tokens", "max_tokens", "sent", "reason"),
    [
        (None, None, 64, "stop"),
        (None, 5, 5, "length"),
        (8, 5, 5, "length"),
        (3, 5, 3, "stop"),
        (0, 5, 0, "stop"),
    ],
)
def test_number_of_tokens(tokens: int | None, max_tokens: int | None, sent: int, reason: str) -> None:
    planned = plan(max_tokens=max_tokens, tokens=tokens)
    assert (planned.num_sent, planned.finish_reason) == (sent, reason)


def test_sizes_sum_up_and_do_not_mix_thought_and_answer() -> None:
    assert list(plan(tokens=10, reasoning_tokens=5, tokens_per_chunk=3).sizes()) == [3, 2, 3, 2]
