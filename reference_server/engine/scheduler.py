"""Which sequences compute how many tokens in the next step.

One rule: a sequence has tokens, of which some are computed; a step has a budget of tokens. What runs is
served first, then what waits. Decoding (1 token), a chunk of a prefill, what the prefix cache left over, the
recomputation after a preemption and the verification of a draft are all ``num_scheduled_tokens`` of a
sequence.

One order decides everything else: who is served first is preempted last, and returns to its place.
"""

from __future__ import annotations

import itertools
import time
from bisect import bisect_left, insort
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Literal

from reference_server.engine.chunk_limit import ChunkLimit
from reference_server.engine.step_plan import ScheduledSequence, StepPlan

if TYPE_CHECKING:
    from collections.abc import Sequence as SequenceOf

    from reference_server.engine.block_manager import BlockManager
    from reference_server.engine.drafting import Drafting
    from reference_server.engine.sequence import Sequence

MAX_PREEMPTIONS = 3
"""A sequence that was preempted this often is not preempted again."""

_ORDER = attrgetter("order")


@dataclass(frozen=True, kw_only=True)
class SchedulerConfig:
    """Limits of a step.

    Attributes:
        max_num_seqs: Running sequences.
        max_num_batched_tokens: The budget of a step.
        max_model_len: Tokens of a sequence, which never exceed the pool.
        enable_chunked_prefill: A prompt may be spread over steps. If not, one prompt of a step may exceed the
            budget, else a long one would wait for as long as others decode.
        long_prefill_token_threshold: Tokens that a prefill may compute in a step while other sequences
            live; 0 leaves it the whole budget; None, if it takes several steps, what
            :class:`~reference_server.engine.chunk_limit.ChunkLimit` allows beside those that decode.
        policy: ``fcfs``, or ``priority``: a lower priority first, then first come, first served.
        watermark_blocks: Blocks kept free when a sequence joins others, so that they can grow.
    """

    max_num_seqs: int
    max_num_batched_tokens: int
    max_model_len: int
    enable_chunked_prefill: bool = True
    long_prefill_token_threshold: int | None = None
    policy: Literal["fcfs", "priority"] = "fcfs"
    watermark_blocks: int = 1


class Scheduler:
    """Continuous batching over a pool of blocks.

    Args:
        config: Limits.
        blocks: The pool.
        drafting: Adds drafts of tokens to steps; None for none.

    Attributes:
        running: Sequences with blocks, in order.
        waiting: The others, in order.
        num_preemptions: Counter.
        num_prefix_queries: Counter: prompt tokens looked up in the prefix cache, each prompt once.
        num_prefix_hits: Counter: of these, the tokens found.
    """

    def __init__(
        self, config: SchedulerConfig, blocks: BlockManager, drafting: Drafting | None = None
    ) -> None:
        self.config = config
        self.blocks = blocks
        self.running: list[Sequence] = []
        self.waiting: list[Sequence] = []
        self.num_preemptions = 0
        self.num_prefix_queries = 0
        self.num_prefix_hits = 0
        self._chunk_limit = ChunkLimit(config.max_num_batched_tokens)
        self._numbers = itertools.count()
        self._drafting = drafting

    @property
    def has_work(self) -> bool:
        """Whether any sequence is live."""
        return bool(self.running or self.waiting)

    def add(self, sequence: Sequence) -> None:
        """Queue a sequence that fits the pool when it is alone."""
        priority = sequence.priority if self.config.policy == "priority" else 0
        sequence.order = (priority, next(self._numbers))
        insort(self.waiting, sequence, key=_ORDER)

    def remove(self, sequence: Sequence) -> None:
        """Forget a sequence that is finished or aborted; its blocks are free at once."""
        _take(self.running if sequence.block_table else self.waiting, sequence)
        self.blocks.release(sequence)
        if self._drafting is not None:
            self._drafting.end(sequence)

    def schedule(self) -> list[ScheduledSequence]:
        """Choose the next step's work and give it its blocks. Empty only if there is no work."""
        plan = StepPlan(self.config.max_num_batched_tokens)
        self._schedule_running(plan)
        if not plan.preempted:
            self._admit_waiting(plan)
        if self._drafting is not None:
            self._drafting.extend(plan, self.blocks, self._blocks_kept_from_drafts())
        return plan.scheduled()

    def advance(self, sequence: Sequence, num_tokens: int) -> None:
        """Count tokens whose keys and values a step has computed and that are the sequence's own.

        Drafted ones, which may have filled a block, are known to be its own only now.
        """
        sequence.num_computed_tokens += num_tokens
        self.blocks.publish(sequence, sequence.num_computed_tokens)

    def observe(self, scheduled: list[ScheduledSequence], duration_ns: int) -> None:
        """Take note of how long a step took, before its tokens count as computed."""
        num_decodes = sum(item.is_decode for item in scheduled)
        num_prefill_tokens = sum(item.num_scheduled_tokens for item in scheduled if not item.is_decode)
        self._chunk_limit.observe(num_decodes, num_prefill_tokens, duration_ns)
        if self._drafting is not None:
            self._drafting.observe(sum(item.num_scheduled_tokens for item in scheduled), duration_ns)

    def judge(self, sequence: Sequence, tokens: SequenceOf[int]) -> None:
        """Take note of the tokens that a step gave a sequence."""
        if self._drafting is not None:
            self._drafting.judge(sequence, tokens)

    def _blocks_kept_from_drafts(self) -> int:
        """All, while anybody waits: it may be for blocks."""
        return self.blocks.num_blocks if self.waiting else self.config.watermark_blocks

    def _schedule_running(self, plan: StepPlan) -> None:
        """Decodes first, so that none waits for an older one's long prefill; then chunks."""
        chunks = []
        for sequence in list(self.running):
            if sequence.num_uncomputed_tokens > 1:
                chunks.append(sequence)
            else:
                self._continue(sequence, plan)
        if plan.counts and self.config.long_prefill_token_threshold is None:
            plan.long_budget = self._chunk_limit.tokens(len(plan.counts))
        for sequence in chunks:
            self._continue(sequence, plan)

    def _continue(self, sequence: Sequence, plan: StepPlan) -> None:
        is_long = self._is_long(sequence.num_tokens - sequence.num_cached_tokens)
        count = self._num_tokens(sequence.num_uncomputed_tokens, plan, is_long=is_long)
        if count == 0 or sequence in plan.preempted:
            return
        if self._make_room(sequence, sequence.num_computed_tokens + count, plan):
            self._compute(sequence, count, plan)

    def _compute(self, sequence: Sequence, count: int, plan: StepPlan) -> None:
        """From here on it is sure that the step computes these tokens: who is planned is never preempted."""
        plan.add(sequence, count)
        self.blocks.publish(sequence, sequence.num_computed_tokens + count)

    def _num_tokens(self, needed: int, plan: StepPlan, *, is_long: bool) -> int:
        """What a sequence that needs so many tokens may compute in this step."""
        threshold = self.config.long_prefill_token_threshold or 0
        if 0 < threshold < needed and len(self.running) + len(self.waiting) > 1:
            needed = threshold
        if is_long and needed > 1:
            needed = min(needed, plan.long_budget)
        return min(needed, plan.budget)

    def _is_long(self, num_tokens: int) -> bool:
        """Whether it takes several steps to compute so many tokens, however little others do."""
        return self.config.enable_chunked_prefill and num_tokens > self.config.max_num_batched_tokens

    def _make_room(self, sequence: Sequence, num_tokens: int, plan: StepPlan) -> bool:
        """Preempt others until the sequence has its blocks; False if it was preempted itself."""
        while not self.blocks.can_grow(sequence, num_tokens):
            victim = self._victim()
            self._preempt(victim, plan)
            if victim is sequence:
                return False
        self.blocks.grow(sequence, num_tokens)
        return True

    def _victim(self) -> Sequence:
        """The last in order that may be preempted.

        The one that has to grow may be, so there is one, and it is none that was planned before it.
        """
        return next(s for s in reversed(self.running) if s.num_preemptions < MAX_PREEMPTIONS)

    def _preempt(self, victim: Sequence, plan: StepPlan) -> None:
        assert victim not in plan.counts
        plan.preempted.add(victim)
        self.blocks.release(victim)
        if self._drafting is not None:
            self._drafting.preempt(victim)
        _take(self.running, victim)
        victim.num_computed_tokens = 0
        victim.num_preemptions += 1
        self.num_preemptions += 1
        insort(self.waiting, victim, key=_ORDER)

    def _admit_waiting(self, plan: StepPlan) -> None:
        """In order, until one finds no room."""
        place, limit = 0, self.config.max_num_seqs
        while place < min(len(self.waiting), limit) and plan.budget > 0 and len(self.running) < limit:
            sequence = self.waiting[place]
            prefix = self.blocks.find_prefix(sequence)
            if self._has_to_let_pass(sequence, prefix, plan):
                place += 1
            elif not self._admit(sequence, prefix, plan):
                return

    def _has_to_let_pass(self, sequence: Sequence, prefix: list[int], plan: StepPlan) -> bool:
        """Whether its beginning is just being computed, or another long prompt takes all that such may."""
        is_long = self._is_long(self._num_tokens_after(sequence, prefix))
        return (is_long and not plan.long_budget) or self.blocks.is_prefix_under_way(
            sequence, len(prefix), self.running
        )

    def _num_tokens_after(self, sequence: Sequence, prefix: list[int]) -> int:
        """Tokens to compute once a prefix is taken over."""
        return sequence.num_tokens - len(prefix) * self.blocks.block_size

    def _admit(self, sequence: Sequence, prefix: list[int], plan: StepPlan) -> bool:
        """Let a waiting sequence run, if there is room."""
        count = self._admissible_tokens(self._num_tokens_after(sequence, prefix), plan)
        num_tokens = self._num_tokens_to_hold(sequence)
        keep_free = self.config.watermark_blocks if self.running else 0
        if count == 0 or not self.blocks.can_grow(sequence, num_tokens, prefix=prefix, keep_free=keep_free):
            return False
        _take(self.waiting, sequence)
        insort(self.running, sequence, key=_ORDER)
        self.blocks.take_over(sequence, prefix)
        self.blocks.grow(sequence, num_tokens)
        self._note_admission(sequence)
        plan.num_admitted += 1
        self._compute(sequence, count, plan)
        return True

    def _admissible_tokens(self, needed: int, plan: StepPlan) -> int:
        """Tokens that a waiting sequence may compute in this step; 0 if it has to wait for another."""
        if self.config.enable_chunked_prefill:
            return self._num_tokens(needed, plan, is_long=self._is_long(needed))
        return needed if needed <= plan.budget or not plan.num_admitted else 0

    def _num_tokens_to_hold(self, sequence: Sequence) -> int:
        """For how many tokens a sequence gets blocks when it joins.

        All known ones, so that a prefill never waits for memory in the middle. One that was preempted as
        often as may be gets all it can ever need: it never has to grow, so it never has to go.
        """
        if sequence.num_preemptions < MAX_PREEMPTIONS:
            return sequence.num_tokens
        longest = min(sequence.max_num_tokens, self.config.max_model_len)
        return max(sequence.num_tokens, longest - 1)  # the last token's keys and values are never stored

    def _note_admission(self, sequence: Sequence) -> None:
        """Count what the first look into the prefix cache found; later ones find its own blocks."""
        if sequence.scheduled_ns:
            return
        sequence.scheduled_ns = time.monotonic_ns()
        sequence.num_cached_tokens = sequence.num_computed_tokens
        if self.blocks.enable_prefix_caching:
            self.num_prefix_queries += sequence.num_tokens
            self.num_prefix_hits += sequence.num_cached_tokens

    def check_invariants(self) -> None:
        """Raise ``AssertionError`` if the state contradicts itself. For tests; call between steps."""
        self.blocks.check_invariants([*self.running, *self.waiting])
        assert len(self.running) <= self.config.max_num_seqs, "too many sequences run"
        assert len({*self.running, *self.waiting}) == len(self.running) + len(self.waiting), "held twice"
        for queue in (self.running, self.waiting):
            assert queue == sorted(queue, key=_ORDER), "a queue is out of order"
        if self._drafting is not None:
            self._drafting.check_invariants([*self.running, *self.waiting])
        for sequence in self.running:
            self._check_running(sequence)
        for sequence in self.waiting:
            assert not sequence.block_table, f"{sequence} waits, but owns blocks"
            assert sequence.num_computed_tokens == 0, f"{sequence} waits, but counts computed tokens"

    def _check_running(self, sequence: Sequence) -> None:
        covered = len(sequence.block_table) * self.blocks.block_size
        assert sequence.num_computed_tokens <= covered, f"{sequence} has tokens outside its blocks"
        assert sequence.num_computed_tokens < sequence.num_tokens, f"{sequence} has nothing to compute"
        assert sequence.num_preemptions <= MAX_PREEMPTIONS, f"{sequence} was preempted too often"
        if sequence.num_preemptions == MAX_PREEMPTIONS:
            assert covered >= self._num_tokens_to_hold(sequence), f"{sequence} would have to grow"


def _take(queue: list[Sequence], sequence: Sequence) -> None:
    """Remove a sequence from an ordered queue."""
    del queue[bisect_left(queue, sequence.order, key=_ORDER)]
