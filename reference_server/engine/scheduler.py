"""Which sequences compute how many tokens in the next step.

One rule: a sequence has tokens, of which some are computed; a step has a budget of tokens. Decoding (1
token), a chunk of a prefill, what the prefix cache left over, the recomputation after a preemption and the
verification of a draft are all ``num_scheduled_tokens`` of a sequence.

One order decides everything else: who is served first is preempted last, and returns to its place.
"""

from __future__ import annotations

import itertools
import time
from bisect import bisect_left, insort
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Literal

from reference_server.batching import batching
from reference_server.engine.step_plan import ScheduledSequence, StepPlan
from reference_server.kv_allocation import kv_allocation
from reference_server.kv_cache import kv_cache

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
        batching: ``continuous`` or ``static``: :mod:`reference_server.batching`.
        kv_allocation: ``paged`` or ``contiguous``: :mod:`reference_server.kv_allocation`.
        kv_cache: ``on`` or ``off``: :mod:`reference_server.kv_cache`.
        watermark_blocks: Blocks kept free when a sequence joins others, so that they can grow.
    """

    max_num_seqs: int
    max_num_batched_tokens: int
    max_model_len: int
    enable_chunked_prefill: bool = True
    long_prefill_token_threshold: int | None = None
    policy: Literal["fcfs", "priority"] = "fcfs"
    batching: str = "continuous"
    kv_allocation: str = "paged"
    kv_cache: str = "on"
    watermark_blocks: int = 1


class Scheduler:
    """Queues of sequences over a pool of blocks; :mod:`reference_server.batching` says how they share steps.

    Args:
        config: Limits.
        blocks: The pool.
        drafting: Adds drafts of tokens to steps; None for none.

    Attributes:
        running: Sequences with blocks, in order.
        waiting: The others, in order.
        held: Ended ones whose places and blocks the batch still holds.
        num_preemptions: Counter.
        num_prefix_queries: Counter: prompt tokens looked up in the prefix cache, each prompt once.
        num_prefix_hits: Counter: of these, the tokens found.
        num_step_padding_tokens: Tokens that the last scheduled step computes for nobody.
    """

    def __init__(
        self, config: SchedulerConfig, blocks: BlockManager, drafting: Drafting | None = None
    ) -> None:
        self.config = config
        self.blocks = blocks
        self.running: list[Sequence] = []
        self.waiting: list[Sequence] = []
        self.held: list[Sequence] = []
        self.num_preemptions = 0
        self.num_prefix_queries = 0
        self.num_prefix_hits = 0
        self.num_step_padding_tokens = 0
        self._numbers = itertools.count()
        self._drafting = drafting
        self._batching = batching(config.batching, config)
        self._kv_allocation = kv_allocation(config.kv_allocation)
        self._kv_cache = kv_cache(config.kv_cache)
        self._reserves_output = self._batching.reserves_output or self._kv_allocation.reserves_output

    @property
    def has_work(self) -> bool:
        """Whether any sequence is live."""
        return bool(self.running or self.waiting)

    @property
    def num_live(self) -> int:
        """Sequences that run or wait."""
        return len(self.running) + len(self.waiting)

    def add(self, sequence: Sequence) -> None:
        """Queue a sequence that fits the pool when it is alone."""
        priority = sequence.priority if self.config.policy == "priority" else 0
        sequence.order = (priority, next(self._numbers))
        insort(self.waiting, sequence, key=_ORDER)

    def remove(self, sequence: Sequence) -> None:
        """Forget a sequence that is finished or aborted. Its blocks are free at once, or with its batch."""
        if sequence.block_table:
            _take(self.running, sequence)
            self.held.append(sequence)
        else:
            _take(self.waiting, sequence)
        if not (self.running and self._batching.holds_places):
            self._release_held()
        if self._drafting is not None:
            self._drafting.end(sequence)

    def _release_held(self) -> None:
        for sequence in self.held:
            self.blocks.release(sequence)
        self.held.clear()

    def schedule(self) -> list[ScheduledSequence]:
        """Choose the next step's work and give it its blocks. Empty only if there is no work."""
        plan = StepPlan(self.config.max_num_batched_tokens)
        self._batching.fill(plan, self)
        if self._drafting is not None:
            self._drafting.extend(plan, self.blocks, self._blocks_kept_from_drafts())
        self.num_step_padding_tokens = plan.num_padding_tokens
        return plan.scheduled()

    def reset_prefix_cache(self) -> None:
        """Let nothing computed so far be found again."""
        self.blocks.reset_prefix_cache()
        if self._drafting is not None:
            self._drafting.reset_prefix_cache()

    def advance(self, sequence: Sequence, num_tokens: int) -> None:
        """Count tokens whose keys and values a step has computed and that are the sequence's own.

        Drafted ones, which may have filled a block, are known to be its own only now.
        """
        sequence.num_computed_tokens += num_tokens
        self.blocks.publish(sequence, sequence.num_computed_tokens)

    def observe(self, scheduled: list[ScheduledSequence], duration_ns: int) -> None:
        """Take note of how long a step took, before its tokens count as computed."""
        self._batching.observe(scheduled, duration_ns)
        if self._drafting is not None:
            self._drafting.observe(sum(item.num_scheduled_tokens for item in scheduled), duration_ns)

    def judge(self, sequence: Sequence, tokens: SequenceOf[int]) -> None:
        """Take note of the tokens that a step gave a sequence, and were appended to it."""
        if self._drafting is not None:
            self._drafting.judge(sequence, tokens)
        self._kv_cache.after_token(sequence)

    def compute(self, sequence: Sequence, count: int, plan: StepPlan) -> None:
        """From here on it is sure that the step computes these tokens: who is planned is never preempted."""
        plan.add(sequence, count)
        self.blocks.publish(sequence, sequence.num_computed_tokens + count)

    def make_room(self, sequence: Sequence, num_tokens: int, plan: StepPlan) -> bool:
        """Preempt others until a running sequence has its blocks; False if it was preempted itself."""
        while not self.blocks.can_grow(sequence, num_tokens):
            victim = self._victim(plan)
            self._preempt(victim, plan)
            if victim is sequence:
                return False
        self.blocks.grow(sequence, num_tokens)
        return True

    def admit(self, sequence: Sequence, prefix: list[int]) -> bool:
        """Let a waiting sequence run, with what was found of its prefix, if there is room."""
        num_tokens = self._num_tokens_to_hold(sequence)
        keep_free = self.config.watermark_blocks if self.running and not self._reserves_output else 0
        if not self.blocks.can_grow(sequence, num_tokens, prefix=prefix, keep_free=keep_free):
            return False
        _take(self.waiting, sequence)
        insort(self.running, sequence, key=_ORDER)
        self.blocks.take_over(sequence, prefix)
        self.blocks.grow(sequence, num_tokens)
        self._note_admission(sequence)
        return True

    def _blocks_kept_from_drafts(self) -> int:
        """All, while anybody waits: it may be for blocks."""
        return self.blocks.num_blocks if self.waiting else self.config.watermark_blocks

    def _victim(self, plan: StepPlan) -> Sequence:
        """The last in order that may be preempted and is not planned; who has to grow is such a one."""
        mobile = (s for s in reversed(self.running) if s.num_preemptions < MAX_PREEMPTIONS)
        return next(sequence for sequence in mobile if sequence not in plan.counts)

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

    def _num_tokens_to_hold(self, sequence: Sequence) -> int:
        """For how many tokens a sequence gets blocks when it joins.

        One that was preempted as often as may be gets all it can ever need: it never has to grow, so it never
        has to go.
        """
        num_tokens = self._kv_allocation.num_tokens(sequence, self.config.max_model_len)
        if not self._reserves_output and sequence.num_preemptions < MAX_PREEMPTIONS:
            return num_tokens
        longest = min(sequence.max_num_tokens, self.config.max_model_len)
        # The last token's keys and values are never stored.
        return max(num_tokens, longest - 1)

    def _note_admission(self, sequence: Sequence) -> None:
        """Count what the first look into the prefix cache found; later ones find its own blocks."""
        if sequence.scheduled_ns:
            return
        sequence.scheduled_ns = time.monotonic_ns()
        sequence.num_cached_tokens = sequence.num_computed_tokens
        if self.blocks.looks_up(sequence):
            self.num_prefix_queries += sequence.num_tokens
            self.num_prefix_hits += sequence.num_cached_tokens

    def check_invariants(self) -> None:
        """Raise ``AssertionError`` if the state contradicts itself. For tests; call between steps."""
        self.blocks.check_invariants([*self.running, *self.waiting, *self.held])
        num_places = len(self.running) + len(self.held)
        assert num_places <= self.config.max_num_seqs, "too many sequences run"
        assert self.running or not self.held, "the places of a batch outlive it"
        assert self._batching.holds_places or not self.held, "an ended sequence still owns blocks"
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
        if self._reserves_output or sequence.num_preemptions == MAX_PREEMPTIONS:
            assert covered >= self._num_tokens_to_hold(sequence), f"{sequence} would have to grow"


def _take(queue: list[Sequence], sequence: Sequence) -> None:
    """Remove a sequence from an ordered queue."""
    del queue[bisect_left(queue, sequence.order, key=_ORDER)]
