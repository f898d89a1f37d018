"""Prompts that begin alike and arrive together: one computes the beginning, the others wait for it."""

from __future__ import annotations

import pytest
from support.scheduler_step import step

from reference_server.engine.block_manager import BlockManager
from reference_server.engine.request import EngineRequest, SamplingParams
from reference_server.engine.scheduler import Scheduler, SchedulerConfig
from reference_server.engine.sequence import Sequence

BLOCK_SIZE, BUDGET, THRESHOLD = 4, 32, 8


@pytest.fixture
def scheduler() -> Scheduler:
    """With room for all, and chunks of 8 tokens."""
    config = SchedulerConfig(
        max_num_seqs=8,
        max_num_batched_tokens=BUDGET,
        max_model_len=400,
        long_prefill_token_threshold=THRESHOLD,
    )
    return Scheduler(config, BlockManager(200, BLOCK_SIZE))


def add(scheduler: Scheduler, prompts: dict[str, list[int]]) -> dict[str, Sequence]:
    sampling = SamplingParams(max_tokens=50, seed=0)
    sequences = {
        name: Sequence(EngineRequest(request_id=name, prompt_token_ids=prompt, sampling=sampling))
        for name, prompt in prompts.items()
    }
    for sequence in sequences.values():
        scheduler.add(sequence)
    return sequences


def test_children_of_a_long_prompt_compute_only_what_they_can_not_share(scheduler: Scheduler) -> None:
    add(scheduler, {name: list(range(2, 43)) for name in "abcd"})
    steps = [step(scheduler) for _ in range(5)]
    assert steps == [{"a": 8}] * 4 + [{"a": 8, "b": 1, "c": 1, "d": 1}]


def test_one_that_parts_from_the_other_waits_only_for_what_they_share(scheduler: Scheduler) -> None:
    shared = list(range(2, 14))
    add(scheduler, {"a": shared + [100] * 40, "b": shared + [200] * 20})
    assert step(scheduler) == {"a": 8}
    assert step(scheduler) == {"a": 8, "b": 8}, "three blocks are shared, the last of them is in this step"


def test_who_waits_for_a_prefix_lets_others_pass(scheduler: Scheduler) -> None:
    add(scheduler, {"a": [5] * 40, "b": [5] * 40, "c": [6] * 3})
    assert step(scheduler) == {"a": 8, "c": 3}


def test_the_end_of_the_one_that_computes_is_no_end_for_the_others(scheduler: Scheduler) -> None:
    sequences = add(scheduler, {"a": [5] * 40, "b": [5] * 40})
    step(scheduler)
    scheduler.remove(sequences["a"])
    assert step(scheduler) == {"b": 32}, "8 tokens are found, the rest is its own"


def test_after_a_reset_nobody_waits_for_what_will_not_be_found(scheduler: Scheduler) -> None:
    add(scheduler, {"a": [5] * 40})
    step(scheduler)
    scheduler.blocks.reset_prefix_cache()
    add(scheduler, {"b": [5] * 40})
    assert step(scheduler) == {"a": 8, "b": 8}
