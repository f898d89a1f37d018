"""A batch at a time: the next one is let in when the last sequence of the former has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.batching import Batching

if TYPE_CHECKING:
    from collections.abc import Sequence as SequenceOf

    from reference_server.engine.scheduler import Scheduler
    from reference_server.engine.sequence import Sequence
    from reference_server.engine.step_plan import StepPlan


class StaticBatching(Batching):
    """Serving before continuous batching, as a library's ``generate`` on a list of prompts does it.

    Whoever waits when the server is idle is the batch; nobody is waited for. Its sequences go on together:
    none decodes before all prompts are computed. Each step is a rectangle, of as many rows as the batch has
    places and as wide as the longest piece in it: what shorter pieces and ended sequences leave of it is
    padding, computed for nobody. Padding attends to itself only, so it costs all of a token but attention.
    """

    holds_places = True
    reserves_output = True

    def fill(self, plan: StepPlan, scheduler: Scheduler) -> None:
        """See :class:`Batching`."""
        if not scheduler.running:
            self._form_batch(scheduler)
        num_places = len(scheduler.running) + len(scheduler.held)
        width = self._width(num_places)
        for sequence in _whose_turn_it_is(scheduler.running):
            needed = sequence.num_uncomputed_tokens
            scheduler.compute(sequence, needed if width is None else min(needed, width), plan)
        widest = max(plan.counts.values(), default=0)
        plan.pad(num_places * widest - plan.num_tokens)

    def _width(self, num_places: int) -> int | None:
        """Of a step, at most, so that it keeps its budget; None without chunks: whole prompts."""
        if not self.config.enable_chunked_prefill:
            return None
        return self.config.max_num_batched_tokens // num_places if num_places else 0

    def _form_batch(self, scheduler: Scheduler) -> None:
        """In order, until one finds no room."""
        longest, most = 0, min(self.config.max_num_seqs, self.config.max_num_batched_tokens)
        while scheduler.waiting and len(scheduler.running) < most:
            sequence = scheduler.waiting[0]
            longest = max(longest, sequence.num_tokens)
            if not (self._fits(longest, len(scheduler.running) + 1) and self._admit(sequence, scheduler)):
                return

    def _admit(self, sequence: Sequence, scheduler: Scheduler) -> bool:
        return scheduler.admit(sequence, scheduler.blocks.find_prefix(sequence))

    def _fits(self, longest: int, num_places: int) -> bool:
        """Whether so many prompts, padded to the longest, can be computed: without chunks in one step."""
        in_budget = longest * num_places <= self.config.max_num_batched_tokens
        return self.config.enable_chunked_prefill or num_places == 1 or in_budget


def _whose_turn_it_is(running: SequenceOf[Sequence]) -> list[Sequence]:
    """All, once all decode; until then those that have the fewest tokens of output, while the others wait."""
    fewest = min((sequence.num_output_tokens for sequence in running), default=0)
    if fewest and all(sequence.num_uncomputed_tokens == 1 for sequence in running):
        return list(running)
    return [sequence for sequence in running if sequence.num_output_tokens == fewest]


BATCHING = StaticBatching
