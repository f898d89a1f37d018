"""Thousands of random steps: arrivals, ends and aborts, with the state checked after each."""

from __future__ import annotations

import pytest
from support.scheduler_fuzz import Fuzz

from reference_server.engine.block_manager import BlockManager
from reference_server.engine.block_pool import BlockPool

SEEDS = range(12)


@pytest.mark.parametrize("seed", SEEDS)
def test_S4_no_block_is_lost_and_every_sequence_ends(seed: int) -> None:
    """The short twin of the test in ``tests/soak``."""
    assert Fuzz(seed).run(1000).num_finished > 10


def test_S4_the_random_traffic_preempts_and_hits_the_cache() -> None:
    schedulers = [Fuzz(seed).run(1000).scheduler for seed in SEEDS]
    assert sum(scheduler.num_preemptions for scheduler in schedulers) > 200
    assert sum(scheduler.num_prefix_hits for scheduler in schedulers) > 500


def run_all() -> None:
    for seed in SEEDS:
        Fuzz(seed).run(300)


def test_S4_the_fuzz_notices_a_block_that_is_found_before_it_is_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The fault of C3-03, planted."""
    publish = BlockManager.publish
    monkeypatch.setattr(BlockManager, "publish", lambda self, s, _: publish(self, s, s.num_tokens))
    with pytest.raises(AssertionError, match=r"published before it was full|not its own"):
        run_all()


def test_S4_the_fuzz_notices_tenants_that_share_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reference_server.engine.block_key._root", lambda _: b"")
    with pytest.raises(AssertionError, match="reads what is not its own"):
        run_all()


def test_S4_the_fuzz_notices_a_reference_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault of C3-01, planted."""
    monkeypatch.setattr(BlockPool, "share", lambda self, block: self._free.pop(block, None))
    with pytest.raises(AssertionError):
        run_all()
