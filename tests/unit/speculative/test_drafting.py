"""Drafts get what is left of a step: budget, blocks and length."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest
from support.scheduler_fuzz import Fuzz

from reference_server.engine.block_manager import BlockManager
from reference_server.engine.draft_lengths import WholeDrafts
from reference_server.engine.drafting import Drafting
from reference_server.engine.request import EngineRequest
from reference_server.engine.scheduler import Scheduler, SchedulerConfig
from reference_server.engine.sequence import Sequence
from reference_server.speculative import Proposer

if TYPE_CHECKING:
    from reference_server.engine.step_plan import ScheduledSequence

MakeRequest = Callable[..., EngineRequest]
NUM_DRAFTED, BLOCK_SIZE = 4, 4
SEEDS = range(12)


class Nines(Proposer):
    """Always guesses nines, as many as may be."""

    def propose(self, limits: Mapping[Sequence, int]) -> dict[Sequence, list[int]]:
        """See above."""
        return {sequence: [9] * limit for sequence, limit in limits.items()}


def scheduler(*, num_blocks: int = 100, max_model_len: int = 200, **settings: Any) -> Scheduler:
    config = SchedulerConfig(
        **({"max_num_seqs": 8, "max_num_batched_tokens": 64, "max_model_len": max_model_len} | settings)
    )
    drafting = Drafting(Nines(), WholeDrafts(), NUM_DRAFTED, max_model_len)
    return Scheduler(config, BlockManager(num_blocks, BLOCK_SIZE), drafting)


def begin(scheduler: Scheduler, *sequences: Sequence) -> None:
    """Bring sequences to where they decode."""
    for sequence in sequences:
        scheduler.add(sequence)
        step(scheduler)
    assert all(sequence.num_uncomputed_tokens == 1 for sequence in sequences)


def step(scheduler: Scheduler, token_id: int = 1) -> dict[str, int]:
    """Schedule, compute, accept nothing of a draft; lengths of drafts by request id."""
    scheduled = scheduler.schedule()
    lengths = {item.sequence.request_id: len(item.draft) for item in scheduled}
    for item in scheduled:
        finish(item, token_id)
    scheduler.check_invariants()
    return lengths


def finish(item: ScheduledSequence, token_id: int) -> None:
    samples = item.samples
    item.sequence.num_computed_tokens += item.num_own_tokens
    if samples:
        item.sequence.append(token_id)


@pytest.fixture
def make_sequence(make_request: MakeRequest) -> Callable[..., Sequence]:
    def make(request_id: str, prompt_len: int = 5, max_tokens: int = 100) -> Sequence:
        prompt = [ord(request_id)] * prompt_len
        return Sequence(make_request(request_id, prompt, max_tokens=max_tokens))

    return make


def test_a_prefill_has_no_draft_and_decoding_has(make_sequence: Callable[..., Sequence]) -> None:
    plan = scheduler()
    plan.add(make_sequence("a"))
    assert step(plan) == {"a": 0}
    assert step(plan) == {"a": NUM_DRAFTED}


@pytest.mark.parametrize("max_tokens", [1, 2, 3, 4, 5, 6, 7])
def test_C8_03_a_draft_ends_where_the_answer_must(
    make_sequence: Callable[..., Sequence], max_tokens: int
) -> None:
    """One token comes of the model even if all of the draft is right."""
    plan = scheduler()
    begin(plan, sequence := make_sequence("a", max_tokens=max_tokens))
    while sequence.num_output_tokens < max_tokens:
        left = max_tokens - sequence.num_output_tokens
        assert step(plan) == {"a": min(NUM_DRAFTED, left - 1)}


@pytest.mark.parametrize("prompt_len", range(12, 20))
def test_C8_05_a_draft_ends_at_max_model_len(make_sequence: Callable[..., Sequence], prompt_len: int) -> None:
    plan = scheduler(max_model_len=20)
    plan.add(sequence := make_sequence("a", prompt_len))
    step(plan)
    while sequence.num_tokens < 20:
        left = 20 - sequence.num_tokens
        assert step(plan) == {"a": min(NUM_DRAFTED, left - 1)}


def test_the_budget_holds_everybodys_own_token_first(make_sequence: Callable[..., Sequence]) -> None:
    plan = scheduler(max_num_batched_tokens=6)
    begin(plan, *(make_sequence(name) for name in "abc"))
    assert step(plan) == {"a": 3, "b": 0, "c": 0}


def test_prompts_come_before_drafts(make_sequence: Callable[..., Sequence]) -> None:
    plan = scheduler(max_num_batched_tokens=10, long_prefill_token_threshold=0)
    begin(plan, make_sequence("a"))
    plan.add(make_sequence("b", 15))
    assert step(plan) == {"a": 0, "b": 0}
    assert plan.running[1].num_uncomputed_tokens == 6
    assert step(plan) == {"a": 3, "b": 0}


def test_a_draft_takes_no_block_while_anybody_waits(make_sequence: Callable[..., Sequence]) -> None:
    plan = scheduler(max_num_seqs=1)
    begin(plan, make_sequence("a", 5))  # its second block has room for one more token after the next
    plan.add(make_sequence("b"))
    assert step(plan) == {"a": 2}
    assert len(plan.running[0].block_table) == 2


def test_the_last_blocks_are_for_tokens_that_are_sure(make_sequence: Callable[..., Sequence]) -> None:
    plan = scheduler(num_blocks=4, max_model_len=16, watermark_blocks=2)
    begin(plan, sequence := make_sequence("a", 5))
    assert step(plan) == {"a": 2}
    assert len(sequence.block_table) == 2


def test_only_what_was_accepted_can_be_found_by_others(make_sequence: Callable[..., Sequence]) -> None:
    plan = scheduler()
    begin(plan, sequence := make_sequence("a", 7))
    (item,) = plan.schedule()
    assert (item.num_scheduled_tokens, item.draft) == (5, (9, 9, 9, 9))
    assert sequence.num_published_blocks == 2, "its own eighth token fills the second"
    finish(item, 9)
    for _ in range(4):
        sequence.append(9)
    plan.advance(sequence, 4)
    assert (sequence.num_computed_tokens, sequence.num_published_blocks) == (12, 3)
    plan.check_invariants()


@pytest.mark.parametrize("seed", SEEDS)
def test_S4_with_drafts_no_block_is_lost_and_every_sequence_ends(seed: int) -> None:
    assert Fuzz(seed, max_draft=1 + seed % 5).run(600).num_finished > 10


def test_S4_the_random_traffic_accepts_drafts_and_preempts_beside_them() -> None:
    runs = [Fuzz(seed, max_draft=4).run(300) for seed in SEEDS]
    assert sum(fuzz.num_accepted for fuzz in runs) > 1000
    assert sum(fuzz.scheduler.num_preemptions for fuzz in runs if fuzz.num_accepted) > 50


def run_all() -> None:
    for seed in SEEDS:
        Fuzz(seed, max_draft=4).run(300)


def test_S4_the_fuzz_notices_a_draft_that_is_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault of a cache that remembers what was guessed."""
    extend = Drafting.extend

    def extend_and_publish(self: Drafting, plan: Any, blocks: BlockManager, keep_free: int) -> None:
        extend(self, plan, blocks, keep_free)
        for sequence, draft in plan.drafts.items():
            token_ids = sequence.token_ids
            sequence.token_ids = [*token_ids, *draft]
            blocks.publish(sequence, len(sequence.token_ids))
            sequence.token_ids = token_ids

    monkeypatch.setattr(Drafting, "extend", extend_and_publish)
    with pytest.raises(AssertionError, match=r"published before it was full|wrong key|not its own"):
        run_all()
