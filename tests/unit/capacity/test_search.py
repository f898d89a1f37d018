"""Which load comes next, and when it is enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from harness.campaign.interrupted import Interrupted
from harness.capacity.search import Search, Step
from harness.capacity.searching import find_capacity
from harness.errors import PreflightError
from reports.capacity.search import End

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.capacity.answer import Question
    from reports.capacity.search import Probe
    from tests.unit.capacity.conftest import MakeLimits, MakeProbe, SteadyServer


@pytest.mark.parametrize("capacity", [0.5, 3.3, 9, 700])
async def test_finds_what_it_looks_for(
    capacity: float, question: Question, make_limits: MakeLimits, steady_server: type[SteadyServer]
) -> None:
    found = await find_capacity(question, make_limits(), steady_server(capacity))
    assert found.end is End.PRECISION
    assert found.low is not None
    assert found.high is not None
    assert found.low * 0.99 <= capacity <= found.high * 1.01
    assert found.high <= found.low * 1.1
    assert found.exit_code == 0
    assert len(found.probes) <= 14


@pytest.mark.parametrize("capacity", [1, 5, 12])
async def test_slots_are_whole_and_exact(
    capacity: int, question: Question, make_limits: MakeLimits, steady_server: type[SteadyServer]
) -> None:
    limits = make_limits(whole=True, lowest=1.0, precision=0.001)
    server = steady_server(capacity)
    found = await find_capacity(question, limits, server)
    assert (found.low, found.high, found.estimate) == (capacity, capacity, capacity)
    assert all(step.load == int(step.load) for step in server.steps)


async def test_grows_by_doubling_and_shrinks_by_halving(
    question: Question, make_limits: MakeLimits, steady_server: type[SteadyServer]
) -> None:
    fast, slow = steady_server(40), steady_server(0.9)
    await find_capacity(question, make_limits(), fast)
    await find_capacity(question, make_limits(), slow)
    assert [step.load for step in fast.steps[:5]] == [4, 8, 16, 32, 64]
    assert [step.load for step in slow.steps[:4]] == [4, 2, 1, 0.5]


async def test_an_undecided_probe_is_repeated_longer_and_never_bounds(
    question: Question, make_limits: MakeLimits, steady_server: type[SteadyServer]
) -> None:
    """Though every probe at 8 and 16 is undecided, the search goes on to what passes and what fails."""
    others = {8.0: ["INCONCLUSIVE"] * 9, 16.0: ["INCONCLUSIVE"] * 9}
    server = steady_server(11, others)
    found = await find_capacity(question, make_limits(), server)
    assert [step.load for step in server.steps[:6]] == [4, 8, 8, 16, 16, 32]
    assert server.steps[2].length > server.steps[1].length
    assert found.best_pass not in (8, 16)
    assert found.least_fail not in (8, 16)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= 11 <= found.high


async def test_nothing_but_undecided_probes_is_inconclusive(
    question: Question, make_limits: MakeLimits, steady_server: type[SteadyServer]
) -> None:
    server = steady_server(1, judge=lambda _: "INCONCLUSIVE")
    found = await find_capacity(question, make_limits(max_probes=6), server)
    assert (found.low, found.high, found.estimate) == (None, None, None)
    assert (found.end, found.exit_code) == (End.BUDGET, 3)
    assert "not bounded on either side" in found.sentence


def test_a_repeat_is_as_long_as_the_verdict_asks_for(make_probe: MakeProbe, make_limits: MakeLimits) -> None:
    undecided = make_probe(4, "INCONCLUSIVE", more_needed=600)
    step = Search(make_limits(), [undecided]).next()
    assert step == Step(4, pytest.approx(1.2 * 1000 / 400))


def test_where_a_repeat_would_be_too_long_the_search_goes_on_beside_it(
    make_probe: MakeProbe, make_limits: MakeLimits
) -> None:
    """Below, where the objectives seemed to be missed; above, where they seemed to hold."""
    around = [make_probe(4, "PASS"), make_probe(16, "FAIL")]
    for missed in (True, False):
        undecided = make_probe(8, "INCONCLUSIVE", more_needed=40_000, missed=missed)
        step = Search(make_limits(), [*around, undecided]).next()
        assert isinstance(step, Step)
        assert (step.load < 8) == missed
        assert 4 < step.load < 16


async def test_one_wrong_verdict_is_found_out(
    question: Question, make_limits: MakeLimits, steady_server: type[SteadyServer]
) -> None:
    """A FAIL of 4 by accident, where 11 is the capacity: what was thought to fail is crossed again."""
    server = steady_server(11, {4.0: ["FAIL"]})
    found = await find_capacity(question, make_limits(max_probes=40), server)
    assert found.low is not None
    assert found.high is not None
    assert found.high >= 4


async def test_the_top_of_the_range_is_an_answer(
    question: Question, make_limits: MakeLimits, steady_server: type[SteadyServer]
) -> None:
    found = await find_capacity(question, make_limits(highest=20.0), steady_server(1e9))
    assert (found.end, found.exit_code) == (End.TOP, 0)
    assert found.high is None
    assert [probe.load for probe in found.probes] == [4, 8, 16, 20]
    assert "20 requests/s" in found.sentence


async def test_nothing_will_do(
    question: Question, make_limits: MakeLimits, steady_server: type[SteadyServer]
) -> None:
    found = await find_capacity(question, make_limits(lowest=1.5), steady_server(0.1))
    assert (found.end, found.exit_code) == (End.BOTTOM, 1)
    assert found.probes[-1].load == 1.5
    assert "because" in found.sentence


async def test_the_client_is_the_limit(
    question: Question, make_limits: MakeLimits, steady_server: type[SteadyServer]
) -> None:
    """From 100 on the client can't keep up: the answer is what passed, or more, and says why."""
    server = steady_server(1e9, judge=lambda step: "INVALID" if step.load >= 100 else None)
    found = await find_capacity(question, make_limits(), server)
    assert (found.end, found.exit_code) == (End.INVALID, 4)
    assert found.high is None
    assert found.low is not None
    assert found.best_pass is not None
    assert 64 <= found.best_pass < 100
    assert "or more" in found.sentence
    assert "can't be trusted: because" in found.sentence


async def test_an_invalid_first_probe_ends_it_at_once(
    question: Question, make_limits: MakeLimits, steady_server: type[SteadyServer]
) -> None:
    found = await find_capacity(question, make_limits(), steady_server(9, {4.0: ["INVALID"]}))
    assert (len(found.probes), found.exit_code) == (1, 4)
    assert found.sentence == "Nothing can be said: because"


async def test_the_budget_of_time_is_kept(
    question: Question, make_limits: MakeLimits, steady_server: type[SteadyServer]
) -> None:
    """Probes of 10 s each in 45 s: four, and no fifth."""
    limits = make_limits(max_time_s=45.0, expect_s=lambda step: 10.0 * step.length)
    found = await find_capacity(question, limits, steady_server(11))
    assert (len(found.probes), found.end, found.exit_code) == (4, End.BUDGET, 3)
    assert "would not fit into 45 s" in found.sentence


async def test_goes_on_where_it_was_broken_off(
    question: Question, make_limits: MakeLimits, steady_server: type[SteadyServer]
) -> None:
    """The same probes follow, whether or not the search was broken off after each of them."""
    whole = await find_capacity(question, make_limits(), steady_server(11))
    probes: Sequence[Probe] = ()
    for number in range(1, len(whole.probes) + 1):
        part = await find_capacity(
            question, make_limits(max_probes=number), steady_server(11), earlier=probes
        )
        probes = part.probes
    assert [probe.load for probe in probes] == [probe.load for probe in whole.probes]
    again = await find_capacity(question, make_limits(), steady_server(11), earlier=probes)
    assert again == whole


async def test_an_interrupted_search_says_what_it_knows(question: Question, make_limits: MakeLimits) -> None:
    async def prober(step: Step, before: Sequence[Probe]) -> Probe | Interrupted:
        del step, before
        return Interrupted("SIGTERM")

    found = await find_capacity(question, make_limits(), prober)
    assert (found.exit_code, found.word, found.interrupted) == (143, "INTERRUPTED", "SIGTERM")


async def test_a_server_that_is_gone_ends_the_search_with_what_is_known(
    question: Question, make_limits: MakeLimits, steady_server: type[SteadyServer]
) -> None:
    """Before the first probe it is an error as any."""
    server, left = steady_server(11), 3

    async def prober(step: Step, before: Sequence[Probe]) -> Probe:
        if len(before) == left:
            raise PreflightError("nobody answers", "connect_error")
        return await server(step, before)

    found = await find_capacity(question, make_limits(), prober)
    assert (len(found.probes), found.exit_code) == (3, 4)
    assert found.sentence.startswith("Broken off: nobody answers. As far as the probes tell, the capacity is")
    left = 0
    with pytest.raises(PreflightError):
        await find_capacity(question, make_limits(), prober)
