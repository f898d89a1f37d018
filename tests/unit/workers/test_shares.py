"""Shares of a schedule are together the schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.workers.shares import most_workers, share_of
from scenarios.scenario import Scenario, scenario_from
from scenarios.schedule import Schedule

if TYPE_CHECKING:
    from scenarios.request import Arrival

LOADS = {
    "constant": {"arrivals": "constant", "rate": 50, "requests": 41},
    "poisson": {"arrivals": "poisson", "rate": 40, "duration": "2s"},
    "capped": {"arrivals": "constant", "rate": 50, "requests": 60, "max_in_flight": 7},
    "closed": {"arrivals": "closed", "concurrency": 7, "requests": 60, "ramp": "700ms"},
}


def scenario(load: dict[str, Any], **keys: Any) -> Scenario:
    prompts = {"source": "synthetic", "length": {"min": 3, "max": 9}}
    return scenario_from({"name": "shared", "load": load, "prompts": prompts, "seed": 5, **keys})


def shares(whole: Scenario, num_workers: int) -> list[Schedule]:
    return [share_of(whole.schedule(), worker, num_workers) for worker in range(num_workers)]


@pytest.mark.parametrize("load", LOADS.values(), ids=LOADS)
@given(num_workers=st.integers(1, 7))
def test_all_shares_are_the_whole(load: dict[str, Any], num_workers: int) -> None:
    """Same requests at the same times, each once, those of a worker in order."""
    whole = scenario(load)
    parts = [list(share.arrivals) for share in shares(whole, num_workers)]
    together = sorted((each for part in parts for each in part), key=lambda each: each.index)
    assert together == list(whole.schedule().arrivals)
    for part in parts:
        assert [each.index for each in part] == sorted(each.index for each in part)


@given(num_workers=st.integers(1, 7))
def test_every_slot_is_opened_by_one_worker(num_workers: int) -> None:
    """Each at its own time of the ramp: slots keep their numbers among all."""
    parts = shares(scenario(LOADS["closed"]), num_workers)
    assert sorted(slot for part in parts for slot in part.slots or ()) == list(range(7))
    assert {(part.concurrency, part.ramp_ns) for part in parts} == {(7, 700_000_000)}


@given(num_workers=st.integers(1, 7))
def test_room_in_flight_adds_up_to_the_cap(num_workers: int) -> None:
    parts = shares(scenario(LOADS["capped"]), num_workers)
    assert sum(part.max_in_flight or 0 for part in parts) == 7
    assert all(part.slots is None for part in parts)


@pytest.mark.parametrize("name", ["capped", "closed"])
def test_who_has_more_room_has_more_to_send(name: str) -> None:
    """Five places of seven and two of seven, and requests in that proportion."""
    first, second = shares(scenario({**LOADS[name], "requests": 70}), 2)
    numbers = sum(1 for _ in first.arrivals), sum(1 for _ in second.arrivals)
    assert numbers == (40, 30)


def test_a_conversation_stays_with_one_worker() -> None:
    prompts = {"source": "conversation", "turns": 3, "length": 4}
    whole = scenario({"arrivals": "constant", "rate": 50, "requests": 30}, prompts=prompts)
    parts = [list(share.arrivals) for share in shares(whole, 3)]
    numbers = [{each.conversation for each in part} for part in parts]
    assert all(len(each.later) == 2 for part in parts for each in part[:2])
    assert numbers[0].isdisjoint(numbers[1] | numbers[2])
    assert len(numbers[0] | numbers[1] | numbers[2]) == sum(map(len, parts))


def test_limits_of_the_run_are_the_same_for_all() -> None:
    whole = scenario({**LOADS["poisson"], "stop": {"in_flight": 20}, "grace": "3s"})
    for share in shares(whole, 3):
        assert share.stop == whole.schedule().stop
        assert (share.duration_ns, share.grace_ns) == (2_000_000_000, 3_000_000_000)


@pytest.mark.parametrize(
    ("limits", "most"),
    [
        ({"loop": "open"}, None),
        ({"loop": "open", "num_requests": 3}, 3),
        ({"loop": "open", "num_requests": 30, "max_in_flight": 4}, 4),
        ({"loop": "closed", "concurrency": 6}, 6),
        ({"loop": "closed", "concurrency": 6, "num_requests": 2}, 2),
    ],
)
def test_no_worker_without_something_to_do(limits: dict[str, Any], most: int | None) -> None:
    arrivals: list[Arrival] = []
    assert most_workers(Schedule(arrivals=iter(arrivals), **limits)) == most
