"""False alarms and what is found, on simulated servers; ``benchmarks/comparison.py`` does more of it."""

from __future__ import annotations

import pytest

from benchmarks.comparison import SERVERS, measure

BY_NAME = {server.name: server for server in SERVERS}
PAIRS = 100
EASY = pytest.param("independent", marks=pytest.mark.soak)


@pytest.mark.parametrize("name", ["many lengths, same requests", "M/M/1 at 0.5", EASY])
def test_pairs_without_a_difference_differ_in_2_to_8_percent(name: str) -> None:
    """At a nominal 5 %, over the figures of a run; any of them after Holm's correction in 8 % at most."""
    found = measure(BY_NAME[name], 2_000, PAIRS, 300)
    alone = [share for figure, share in found.items() if figure.endswith(" alone")]
    assert 0.02 <= sum(alone) / len(alone) <= 0.08, found
    assert found["any"] <= 0.08, found


def test_near_saturation_it_rather_says_nothing() -> None:
    """A queue at 90 % load has some twenty independent requests among 2,000."""
    found = measure(BY_NAME["M/M/1 at 0.9"], 2_000, 40, 300)
    assert found["any"] <= 0.08, found
    assert found["without interval"] >= 0.5, found


@pytest.mark.parametrize("name", ["many lengths, same requests", EASY])
def test_a_p95_slower_by_a_tenth_is_found_in_2000_requests(name: str) -> None:
    found = measure(BY_NAME[name], 2_000, 40, 300, slower=1.1)
    assert found["e2e p95"] >= 0.9, found
