"""Every step anew: what runs goes on, and what waits joins as soon as there is room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.batching import Batching
from reference_server.engine.chunk_limit import ChunkLimit

if TYPE_CHECKING:
    from reference_server.engine.scheduler import Scheduler, SchedulerConfig
    from reference_server.engine.sequence import Sequence
    from reference_server.engine.step_plan import ScheduledSequence, StepPlan


class ContinuousBatching(Batching):
    """What runs is served before what waits, decoding before prompts, and who ends leaves at once."""

    def __init__(self, config: SchedulerConfig) -> None:
        super().__init__(config)
        self._chunk_limit = ChunkLimit(config.max_num_batched_tokens)

    def fill(self, plan: StepPlan, scheduler: Scheduler) -> None:
        """See :class:`Batching`."""
        self._go_on(plan, scheduler)
        if not plan.preempted:
            self._let_join(plan, scheduler)

    def observe(self, scheduled: list[ScheduledSequence], duration_ns: int) -> None:
        """Learn how much of long prompts a step takes along."""
        num_decodes = sum(item.is_decode for item in scheduled)
        num_prefill_tokens = sum(item.num_scheduled_tokens for item in scheduled if not item.is_decode)
        self._chunk_limit.observe(num_decodes, num_prefill_tokens, duration_ns)

    def _go_on(self, plan: StepPlan, scheduler: Scheduler) -> None:
        """Decodes first, so that none waits for an older one's long prefill; then chunks."""
        chunks = []
        for sequence in list(scheduler.running):
            if sequence.num_uncomputed_tokens > 1:
                chunks.append(sequence)
            else:
                self._continue(sequence, plan, scheduler)
        if plan.counts and self.config.long_prefill_token_threshold is None:
            plan.long_budget = self._chunk_limit.tokens(len(plan.counts))
        for sequence in chunks:
            self._continue(sequence, plan, scheduler)

    def _continue(self, sequence: Sequence, plan: StepPlan, scheduler: Scheduler) -> None:
        is_long = self._is_long(sequence.num_tokens - sequence.num_cached_tokens)
        is_alone = scheduler.num_live == 1
        count = self._num_tokens(sequence.num_uncomputed_tokens, plan, is_long=is_long, is_alone=is_alone)
        if count == 0 or sequence in plan.preempted:
            return
        if scheduler.make_room(sequence, sequence.num_computed_tokens + count, plan):
            scheduler.compute(sequence, count, plan)

    def _num_tokens(self, needed: int, plan: StepPlan, *, is_long: bool, is_alone: bool) -> int:
        """What a sequence that needs so many tokens may compute in this step."""
        threshold = self.config.long_prefill_token_threshold or 0
        if 0 < threshold < needed and not is_alone:
            needed = threshold
        if is_long and needed > 1:
            needed = min(needed, plan.long_budget)
        return min(needed, plan.budget)

    def _is_long(self, num_tokens: int) -> bool:
        """Whether it takes several steps to compute so many tokens, however little others do."""
        return self.config.enable_chunked_prefill and num_tokens > self.config.max_num_batched_tokens

    def _let_join(self, plan: StepPlan, scheduler: Scheduler) -> None:
        """In order, until one finds no room."""
        waiting, running, limit = scheduler.waiting, scheduler.running, self.config.max_num_seqs
        place = 0
        while place < min(len(waiting), limit) and plan.budget > 0 and len(running) < limit:
            sequence = waiting[place]
            prefix = scheduler.blocks.find_prefix(sequence)
            needed = sequence.num_tokens - len(prefix) * scheduler.blocks.block_size
            if self._has_to_let_pass(sequence, needed, len(prefix), plan, scheduler):
                place += 1
                continue
            count = self._admissible_tokens(needed, plan, is_alone=scheduler.num_live == 1)
            if count == 0 or not scheduler.admit(sequence, prefix):
                return
            plan.num_admitted += 1
            scheduler.compute(sequence, count, plan)

    def _has_to_let_pass(
        self, sequence: Sequence, needed: int, num_found: int, plan: StepPlan, scheduler: Scheduler
    ) -> bool:
        """Whether its beginning is just being computed, or another long prompt takes all that such may."""
        if self._is_long(needed) and not plan.long_budget:
            return True
        return scheduler.blocks.is_prefix_under_way(sequence, num_found, scheduler.running)

    def _admissible_tokens(self, needed: int, plan: StepPlan, *, is_alone: bool) -> int:
        """Tokens that a waiting sequence may compute in this step; 0 if it has to wait for another."""
        if self.config.enable_chunked_prefill:
            return self._num_tokens(needed, plan, is_long=self._is_long(needed), is_alone=is_alone)
        return needed if needed <= plan.budget or not plan.num_admitted else 0


BATCHING = ContinuousBatching
