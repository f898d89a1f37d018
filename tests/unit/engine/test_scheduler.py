"""Who computes what in a step: budget, order, chunks, preemption, admission."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.scheduler_step import step

from reference_server.engine.block_manager import BlockManager
from reference_server.engine.scheduler import MAX_PREEMPTIONS, Scheduler, SchedulerConfig
from reference_server.engine.sequence import Sequence

MakeSequence = Callable[..., Sequence]


def make_scheduler(
    *,
    num_blocks: int = 64,
    block_size: int = 4,
    max_num_seqs: int = 8,
    budget: int = 16,
    chunked: bool = True,
    watermark: int = 1,
    **settings: Any,
) -> Scheduler:
    """Without a prefix cache, which would find the common beginning of these prompts."""
    config = SchedulerConfig(
        max_num_seqs=max_num_seqs,
        max_num_batched_tokens=budget,
        max_model_len=num_blocks * block_size,
        enable_chunked_prefill=chunked,
        watermark_blocks=watermark,
        **settings,
    )
    return Scheduler(config, BlockManager(num_blocks, block_size, enable_prefix_caching=False))


def test_a_prompt_is_spread_over_steps_by_the_budget_then_decodes(make_sequence: MakeSequence) -> None:
    scheduler = make_scheduler(budget=16)
    scheduler.add(make_sequence("a", 40))
    assert [step(scheduler) for _ in range(4)] == [{"a": 16}, {"a": 16}, {"a": 8}, {"a": 1}]


def test_what_runs_is_served_before_what_waits(make_sequence: MakeSequence) -> None:
    scheduler = make_scheduler(budget=16)
    scheduler.add(make_sequence("a", 4))
    step(scheduler)
    scheduler.add(make_sequence("b", 40))
    assert step(scheduler) == {"a": 1, "b": 15}
    assert step(scheduler) == {"a": 1, "b": 15}
    assert step(scheduler) == {"a": 1, "b": 10}


def test_no_more_than_max_num_seqs_run(make_sequence: MakeSequence) -> None:
    scheduler = make_scheduler(max_num_seqs=2)
    for name in "abc":
        scheduler.add(make_sequence(name, 2))
    assert step(scheduler) == {"a": 2, "b": 2}
    scheduler.remove(scheduler.running[0])
    assert step(scheduler) == {"b": 1, "c": 2}


def test_without_chunks_a_prompt_waits_for_a_step_that_holds_it_whole(make_sequence: MakeSequence) -> None:
    scheduler = make_scheduler(budget=16, chunked=False)
    scheduler.add(make_sequence("a", 10))
    scheduler.add(make_sequence("b", 10))
    assert step(scheduler) == {"a": 10}
    assert step(scheduler) == {"a": 1, "b": 10}


def test_without_chunks_a_prompt_beyond_the_budget_does_not_wait_for_those_that_decode(
    make_sequence: MakeSequence,
) -> None:
    scheduler = make_scheduler(budget=16, chunked=False)
    scheduler.add(make_sequence("a", 2, max_tokens=1000))
    step(scheduler)
    for name, length in (("b", 40), ("c", 16), ("d", 2)):
        scheduler.add(make_sequence(name, length))
    assert step(scheduler) == {"a": 1, "b": 40}
    assert step(scheduler) == {"a": 1, "b": 1, "c": 16}, "14 are left, but it is the step's first prompt"
    assert step(scheduler) == {"a": 1, "b": 1, "c": 1, "d": 2}


def test_without_chunks_a_prompt_beyond_the_budget_runs_alone(make_sequence: MakeSequence) -> None:
    scheduler = make_scheduler(budget=16, chunked=False)
    scheduler.add(make_sequence("a", 40))
    scheduler.add(make_sequence("b", 2))
    assert step(scheduler) == {"a": 40}
    assert step(scheduler) == {"a": 1, "b": 2}


def test_the_newest_is_preempted_and_returns_first(make_sequence: MakeSequence) -> None:
    scheduler = make_scheduler(num_blocks=4, watermark=0)
    a, b = make_sequence("a", 8), make_sequence("b", 8)
    scheduler.add(a)
    scheduler.add(b)
    scheduler.add(make_sequence("c", 4))
    assert step(scheduler) == {"a": 8, "b": 8}
    assert step(scheduler) == {"a": 1}
    assert scheduler.num_preemptions == b.num_preemptions == 1
    assert (b.block_table, b.num_computed_tokens, b.num_output_tokens) == ([], 0, 1)
    assert [s.request_id for s in scheduler.waiting] == ["b", "c"]


def test_freed_blocks_serve_in_the_same_step(make_sequence: MakeSequence) -> None:
    """The oldest gets its block in the step that takes it from the newest."""
    scheduler = make_scheduler(num_blocks=4, watermark=0)
    a = make_sequence("a", 8)
    scheduler.add(a)
    scheduler.add(make_sequence("b", 8))
    step(scheduler)
    step(scheduler)
    assert len(a.block_table) == 3


def test_a_sequence_preempted_often_is_not_preempted_again(make_sequence: MakeSequence) -> None:
    """It holds blocks for all it can need, and an older one gives way."""
    scheduler = make_scheduler(num_blocks=6, watermark=0)
    a, b = make_sequence("a", 8, max_tokens=40), make_sequence("b", 8, max_tokens=8)
    b.num_preemptions = MAX_PREEMPTIONS
    scheduler.add(a)
    scheduler.add(b)
    assert step(scheduler) == {"a": 8, "b": 8}
    assert (len(a.block_table), len(b.block_table)) == (2, 4)
    assert step(scheduler) == {"b": 1}
    assert (a.num_preemptions, b.num_preemptions) == (1, MAX_PREEMPTIONS)


def test_what_a_sequence_may_need_ends_at_max_model_len(make_sequence: MakeSequence) -> None:
    scheduler = make_scheduler(num_blocks=6)
    a = make_sequence("a", 8, max_tokens=1_000_000)
    a.num_preemptions = MAX_PREEMPTIONS
    scheduler.add(a)
    step(scheduler)
    assert len(a.block_table) == 6


def test_one_that_is_not_preempted_again_waits_for_its_blocks_before_all_younger_ones(
    make_sequence: MakeSequence,
) -> None:
    scheduler = make_scheduler(num_blocks=7)
    a, b, c = make_sequence("a", 8, max_tokens=2), make_sequence("b", 8, max_tokens=12), make_sequence("c", 1)
    b.num_preemptions = MAX_PREEMPTIONS
    for sequence in (a, b, c):
        scheduler.add(sequence)
    assert step(scheduler) == {"a": 8}
    scheduler.remove(a)
    assert step(scheduler) == {"b": 8, "c": 1}


def test_when_all_others_hold_theirs_for_good_one_preempts_itself(make_sequence: MakeSequence) -> None:
    scheduler = make_scheduler(num_blocks=5, watermark=0)
    a, b = make_sequence("a", 8, max_tokens=4), make_sequence("b", 8, max_tokens=8)
    a.num_preemptions = MAX_PREEMPTIONS
    scheduler.add(a)
    scheduler.add(b)
    assert step(scheduler) == {"a": 8, "b": 8}
    assert step(scheduler) == {"a": 1}
    assert b.num_preemptions == 1


def test_admission_leaves_the_watermark_free_for_those_that_run(make_sequence: MakeSequence) -> None:
    scheduler = make_scheduler(num_blocks=4, watermark=1)
    scheduler.add(make_sequence("a", 7))
    scheduler.add(make_sequence("b", 8))
    assert step(scheduler) == {"a": 7}, "b would take the last two blocks"


def test_alone_a_sequence_may_use_the_whole_pool(make_sequence: MakeSequence) -> None:
    scheduler = make_scheduler(num_blocks=4, watermark=2)
    scheduler.add(make_sequence("a", 16))
    assert step(scheduler) == {"a": 16}


def test_a_prompt_whose_blocks_are_not_free_waits_even_if_its_first_chunk_would_fit(
    make_sequence: MakeSequence,
) -> None:
    scheduler = make_scheduler(num_blocks=8, budget=16)
    scheduler.add(make_sequence("a", 8))
    scheduler.add(make_sequence("b", 28))
    assert step(scheduler) == {"a": 8}


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_c2_03_removal_frees_all_blocks_at_once(make_sequence: MakeSequence, steps: int) -> None:
    """While queued, in mid-prefill and while decoding."""
    scheduler = make_scheduler(budget=16)
    sequence = make_sequence("a", 20)
    scheduler.add(sequence)
    for _ in range(steps):
        step(scheduler)
    scheduler.remove(sequence)
    assert scheduler.blocks.num_free_blocks == 64
    assert not scheduler.has_work


def test_a_long_prompt_leaves_the_rest_of_the_budget_to_others(make_sequence: MakeSequence) -> None:
    scheduler = make_scheduler(budget=16, long_prefill_token_threshold=6)
    for name, length in (("long", 40), ("longer", 50), ("short", 3)):
        scheduler.add(make_sequence(name, length))
    assert step(scheduler) == {"long": 6, "longer": 6, "short": 3}
    assert step(scheduler) == {"short": 1, "long": 6, "longer": 6}


def test_a_long_prompt_alone_takes_the_whole_budget(make_sequence: MakeSequence) -> None:
    scheduler = make_scheduler(budget=16, long_prefill_token_threshold=6)
    scheduler.add(make_sequence("long", 40))
    assert step(scheduler) == {"long": 16}
    scheduler.add(make_sequence("short", 3))
    assert step(scheduler) == {"long": 6, "short": 3}
    scheduler.remove(scheduler.running[1])
    assert step(scheduler) == {"long": 16}


def with_priority(sequence: Sequence, priority: int) -> Sequence:
    sequence.priority = priority
    return sequence


def test_decodes_are_served_before_the_prefill_of_one_that_comes_first(make_sequence: MakeSequence) -> None:
    """Nobody stalls for an urgent one, or for an old one that was preempted and comes back."""
    scheduler = make_scheduler(budget=8, policy="priority")
    scheduler.add(make_sequence("young", 2))
    step(scheduler)
    scheduler.add(with_priority(make_sequence("urgent", 40), -1))
    assert [step(scheduler) for _ in range(3)] == [{"young": 1, "urgent": 7}] * 3
    assert [s.request_id for s in scheduler.running] == ["urgent", "young"]


def test_a_lower_priority_is_admitted_first_then_the_earlier(make_sequence: MakeSequence) -> None:
    scheduler = make_scheduler(max_num_seqs=1, policy="priority")
    for name, priority in (("a", 1), ("b", 0), ("c", -1), ("d", 0)):
        scheduler.add(with_priority(make_sequence(name, 2), priority))
    order = []
    while scheduler.has_work:
        (name,) = step(scheduler)
        order.append(name)
        scheduler.remove(scheduler.running[0])
    assert order == ["c", "b", "d", "a"]


def test_the_highest_priority_value_is_preempted_first(make_sequence: MakeSequence) -> None:
    scheduler = make_scheduler(num_blocks=4, watermark=0, policy="priority")
    for name, priority in (("idle", 5), ("urgent", 0)):
        scheduler.add(with_priority(make_sequence(name, 8), priority))
    assert step(scheduler) == {"urgent": 8, "idle": 8}
    assert step(scheduler) == {"urgent": 1}
    assert [s.request_id for s in scheduler.waiting] == ["idle"]


def test_without_the_policy_a_priority_changes_nothing(make_sequence: MakeSequence) -> None:
    scheduler = make_scheduler(max_num_seqs=1)
    for name, priority in (("a", 1), ("b", -1)):
        scheduler.add(with_priority(make_sequence(name, 2), priority))
    assert step(scheduler) == {"a": 2}


def test_a_preempted_sequence_returns_to_its_place_in_the_queue(make_sequence: MakeSequence) -> None:
    """Before the younger of its own priority, after those more urgent."""
    scheduler = make_scheduler(num_blocks=4, watermark=0, policy="priority")
    a, b = with_priority(make_sequence("a", 8), 0), with_priority(make_sequence("b", 8), 0)
    for sequence in (a, b):
        scheduler.add(sequence)
    step(scheduler)
    for name, priority in (("later", 0), ("urgent", -1), ("idle", 1)):
        scheduler.add(with_priority(make_sequence(name, 16), priority))
    assert step(scheduler) == {"a": 1}
    assert [s.request_id for s in scheduler.waiting] == ["urgent", "b", "later", "idle"]
