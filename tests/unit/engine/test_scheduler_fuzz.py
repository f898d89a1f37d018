"""Thousands of random steps: arrivals, ends and aborts, with the state checked after each."""

from __future__ import annotations

import random

import pytest

from reference_server.engine.block_manager import BlockManager
from reference_server.engine.request import EngineRequest, SamplingParams
from reference_server.engine.scheduler import ScheduledSequence, Scheduler, SchedulerConfig
from reference_server.engine.sequence import Sequence


def random_scheduler(rng: random.Random) -> Scheduler:
    config = SchedulerConfig(
        max_num_seqs=rng.randint(1, 12),
        max_num_batched_tokens=rng.randint(1, 64),
        enable_chunked_prefill=rng.random() < 0.7,
        watermark_blocks=rng.randint(0, 3),
    )
    return Scheduler(config, BlockManager(num_blocks=rng.randint(4, 40), block_size=rng.choice([1, 4, 16])))


def random_sequence(rng: random.Random, number: int, capacity: int) -> Sequence:
    """One whose prompt and output fit the pool when it is alone."""
    prompt_len = rng.randint(1, max(1, capacity - 1) if rng.random() < 0.1 else max(1, capacity // 4))
    max_tokens = rng.randint(1, max(1, capacity - prompt_len))
    sampling = SamplingParams(max_tokens=max_tokens, seed=0)
    return Sequence(
        EngineRequest(request_id=str(number), prompt_token_ids=[1] * prompt_len, sampling=sampling)
    )


def advance(scheduler: Scheduler, scheduled: list[ScheduledSequence]) -> list[Sequence]:
    """Compute what was scheduled; sequences at their end leave. Returns those that left."""
    left = []
    for item in scheduled:
        sequence, samples = item.sequence, item.samples
        sequence.num_computed_tokens += item.num_scheduled_tokens
        if samples:
            sequence.append(2)
            if sequence.num_output_tokens >= sequence.sampling.max_tokens:
                scheduler.remove(sequence)
                left.append(sequence)
    return left


def check_step(scheduler: Scheduler, scheduled: list[ScheduledSequence]) -> None:
    """A step has work, keeps its budget, and computes only tokens that have blocks."""
    counts = [item.num_scheduled_tokens for item in scheduled]
    assert all(count > 0 for count in counts)
    budget = scheduler.config.max_num_batched_tokens
    assert sum(counts) <= budget or (len(counts) == 1 and not scheduler.config.enable_chunked_prefill)
    for item in scheduled:
        end = item.sequence.num_computed_tokens + item.num_scheduled_tokens
        assert end <= item.sequence.num_tokens
        assert end <= len(item.sequence.block_table) * scheduler.blocks.block_size


def fuzz(seed: int, num_steps: int) -> Scheduler:
    """Random traffic for ``num_steps``, then run dry; the scheduler at its end."""
    rng = random.Random(seed)
    scheduler = random_scheduler(rng)
    capacity = scheduler.blocks.num_blocks * scheduler.blocks.block_size
    live: list[Sequence] = []
    for number in range(num_steps):
        if rng.random() < 0.4 and len(live) < 30:
            live.append(random_sequence(rng, number, capacity))
            scheduler.add(live[-1])
        if live and rng.random() < 0.02:
            scheduler.remove(live.pop(rng.randrange(len(live))))
        for sequence in checked_step(scheduler):
            live.remove(sequence)
    for _ in range(200_000):
        if not scheduler.has_work:
            return scheduler
        checked_step(scheduler)
    raise AssertionError(f"{len(live)} sequences never end")


def checked_step(scheduler: Scheduler) -> list[Sequence]:
    had_work = scheduler.has_work
    scheduled = scheduler.schedule()
    assert bool(scheduled) == had_work, "a step without progress would never end"
    check_step(scheduler, scheduled)
    left = advance(scheduler, scheduled)
    scheduler.check_invariants()
    return left


@pytest.mark.parametrize("seed", range(12))
def test_no_block_is_lost_and_every_sequence_ends(seed: int) -> None:
    scheduler = fuzz(seed, 4000)
    assert scheduler.blocks.num_free_blocks == scheduler.blocks.num_blocks


def test_the_random_pools_are_small_enough_to_preempt() -> None:
    assert sum(fuzz(seed, 1000).num_preemptions for seed in range(12)) > 500
