"""Which sequences compute how many tokens in the next step.

One rule: a sequence has tokens, of which some are computed; a step has a budget of tokens. What runs is
served first, oldest first, then what waits. Decoding (1 token), a chunk of a prefill and the recomputation
after a preemption are all ``num_scheduled_tokens`` of a sequence.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_server.engine.block_manager import BlockManager
    from reference_server.engine.sequence import Sequence

MAX_PREEMPTIONS = 3
"""A sequence that was preempted this often is spared while another can be preempted instead."""


@dataclass(frozen=True, kw_only=True)
class SchedulerConfig:
    """Limits of a step.

    Attributes:
        max_num_seqs: Running sequences.
        max_num_batched_tokens: The budget of a step.
        enable_chunked_prefill: A prompt may be spread over steps. If not, one that exceeds the budget is
            computed in a step of its own.
        watermark_blocks: Blocks kept free when a sequence joins others, so that they can grow.
    """

    max_num_seqs: int
    max_num_batched_tokens: int
    enable_chunked_prefill: bool = True
    watermark_blocks: int = 1


@dataclass(frozen=True, slots=True)
class ScheduledSequence:
    """``num_scheduled_tokens`` of ``sequence``, from its first uncomputed one."""

    sequence: Sequence
    num_scheduled_tokens: int

    @property
    def samples(self) -> bool:
        """Whether the step computes its last token, so that the next can be chosen."""
        return self.num_scheduled_tokens == self.sequence.num_uncomputed_tokens


class Scheduler:
    """Continuous batching over a pool of blocks."""

    def __init__(self, config: SchedulerConfig, blocks: BlockManager) -> None:
        self.config = config
        self.blocks = blocks
        self.running: list[Sequence] = []
        self.waiting: deque[Sequence] = deque()
        self.num_preemptions = 0

    @property
    def has_work(self) -> bool:
        """Whether any sequence is live."""
        return bool(self.running or self.waiting)

    def add(self, sequence: Sequence) -> None:
        """Queue a sequence that fits the pool when it is alone."""
        self.waiting.append(sequence)

    def remove(self, sequence: Sequence) -> None:
        """Forget a sequence that is finished or aborted; its blocks are free at once."""
        self.blocks.release(sequence)
        if sequence in self.running:
            self.running.remove(sequence)
        else:
            self.waiting.remove(sequence)

    def schedule(self) -> list[ScheduledSequence]:
        """Choose the next step's work and give it its blocks. Empty only if there is no work."""
        plan = _StepPlan(self.config.max_num_batched_tokens)
        num_preemptions = self.num_preemptions
        self._schedule_running(plan)
        if self.num_preemptions == num_preemptions:
            self._admit_waiting(plan)
        return [ScheduledSequence(sequence, count) for sequence, count in plan.counts.items()]

    def _schedule_running(self, plan: _StepPlan) -> None:
        for sequence in list(self.running):
            if plan.budget == 0:
                break
            if sequence not in self.running:
                continue
            count = min(sequence.num_uncomputed_tokens, plan.budget)
            if self._make_room(sequence, sequence.num_computed_tokens + count, plan):
                plan.add(sequence, count)

    def _make_room(self, sequence: Sequence, num_tokens: int, plan: _StepPlan) -> bool:
        """Preempt others until the sequence has its blocks; False if it was preempted itself."""
        while not self.blocks.can_grow(sequence, num_tokens):
            victim = self._victim()
            self._preempt(victim, plan)
            if victim is sequence:
                return False
        self.blocks.grow(sequence, num_tokens)
        return True

    def _victim(self) -> Sequence:
        """The newest that is not spared; if all are, the newest of all."""
        candidates = [s for s in self.running if s.num_preemptions < MAX_PREEMPTIONS]
        return (candidates or self.running)[-1]

    def _preempt(self, victim: Sequence, plan: _StepPlan) -> None:
        plan.cancel(victim)
        self.blocks.release(victim)
        self.running.remove(victim)
        victim.num_computed_tokens = 0
        victim.num_preemptions += 1
        self.num_preemptions += 1
        self.waiting.appendleft(victim)

    def _admit_waiting(self, plan: _StepPlan) -> None:
        while self.waiting and plan.budget > 0 and len(self.running) < self.config.max_num_seqs:
            sequence = self.waiting[0]
            count = self._admissible_tokens(sequence, plan)
            keep_free = self.config.watermark_blocks if self.running else 0
            if count == 0 or not self.blocks.can_grow(sequence, sequence.num_tokens, keep_free=keep_free):
                return
            self.running.append(self.waiting.popleft())
            self.blocks.grow(sequence, sequence.num_tokens)
            sequence.scheduled_ns = sequence.scheduled_ns or time.monotonic_ns()
            plan.add(sequence, count)

    def _admissible_tokens(self, sequence: Sequence, plan: _StepPlan) -> int:
        """Tokens that a waiting sequence may compute in this step; 0 if it has to wait for another."""
        needed = sequence.num_uncomputed_tokens
        if self.config.enable_chunked_prefill:
            return min(needed, plan.budget)
        return needed if needed <= plan.budget or not plan.counts else 0

    def check_invariants(self) -> None:
        """Raise ``AssertionError`` if the state contradicts itself. For tests; call between steps."""
        self.blocks.check_invariants([*self.running, *self.waiting])
        assert len(self.running) <= self.config.max_num_seqs, "too many sequences run"
        assert len({*self.running, *self.waiting}) == len(self.running) + len(self.waiting), "held twice"
        for sequence in self.running:
            covered = len(sequence.block_table) * self.blocks.block_size
            assert sequence.num_computed_tokens <= covered, f"{sequence} has tokens outside its blocks"
            assert sequence.num_computed_tokens < sequence.num_tokens, f"{sequence} has nothing to compute"
        for sequence in self.waiting:
            assert not sequence.block_table, f"{sequence} waits, but owns blocks"
            assert sequence.num_computed_tokens == 0, f"{sequence} waits, but counts computed tokens"


class _StepPlan:
    """The work chosen so far for a step, and what is left of its budget (never negative)."""

    def __init__(self, budget: int) -> None:
        self._max_budget = budget
        self.counts: dict[Sequence, int] = {}

    @property
    def budget(self) -> int:
        return max(0, self._max_budget - sum(self.counts.values()))

    def add(self, sequence: Sequence, count: int) -> None:
        self.counts[sequence] = count

    def cancel(self, sequence: Sequence) -> None:
        self.counts.pop(sequence, None)
