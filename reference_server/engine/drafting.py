"""What is left of a step's budget and blocks goes to drafted tokens."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Sequence as SequenceOf

    from reference_server.engine.block_manager import BlockManager
    from reference_server.engine.draft_lengths import DraftLengths
    from reference_server.engine.sequence import Sequence
    from reference_server.engine.step_plan import StepPlan
    from reference_server.speculative import Proposer


class Drafting:
    """Lets sequences that decode compute drafted tokens as well.

    Drafts come last: they delay nobody's own tokens, take no block that anybody waits for, preempt nobody.

    Args:
        proposer: Guesses.
        lengths: How much of a guess is worth its cost.
        max_tokens: Of a draft.
        max_model_len: Tokens of a sequence.
    """

    def __init__(
        self, proposer: Proposer, lengths: DraftLengths, max_tokens: int, max_model_len: int
    ) -> None:
        self._proposer, self._lengths = proposer, lengths
        self._max_tokens, self._max_model_len = max_tokens, max_model_len
        self._guess_ns = 0

    def extend(self, plan: StepPlan, blocks: BlockManager, keep_free: int) -> None:
        """Add drafts to a plan that is otherwise complete.

        Args:
            plan: Of the step.
            blocks: For the drafts' keys and values.
            keep_free: Blocks that are left for sequences that grow.
        """
        self._guess_ns = 0
        if plan.budget == 0:
            return
        decoding = [sequence for sequence in plan.counts if sequence.num_uncomputed_tokens == 1]
        limits = {sequence: limit for sequence in decoding if (limit := self._limit(sequence)) > 0}
        if not limits:
            return
        drafts = self._guess(self._lengths.ask(plan.num_tokens, len(decoding), limits))
        for sequence, length in self._lengths.choose(plan.num_tokens, len(decoding), drafts).items():
            count = min(length, plan.budget)
            while count and not blocks.can_grow(sequence, sequence.num_tokens + count, keep_free=keep_free):
                count -= 1
            if count:
                blocks.grow(sequence, sequence.num_tokens + count)
                plan.add_draft(sequence, drafts[sequence][:count])

    def _guess(self, limits: Mapping[Sequence, int]) -> dict[Sequence, list[int]]:
        if not limits:
            return {}
        begin_ns = time.monotonic_ns()
        drafts = self._proposer.propose(limits)
        self._guess_ns = time.monotonic_ns() - begin_ns
        self._lengths.observe_guess(self._proposer.passes())
        return drafts

    def judge(self, sequence: Sequence, tokens: SequenceOf[int]) -> None:
        """Take note of the tokens that a step gave a sequence, whether or not it had a draft."""
        self._lengths.judge(sequence, tokens)

    def end(self, sequence: Sequence) -> None:
        """Take note that a sequence has ended or was aborted."""
        self._proposer.ended(sequence)

    def preempt(self, sequence: Sequence) -> None:
        """Take note that a sequence lost its blocks and waits again."""
        self._proposer.preempted(sequence)

    def reset_prefix_cache(self) -> None:
        """Let the method, too, compute beginnings of prompts anew."""
        self._proposer.reset_prefix_cache()

    def observe(self, num_tokens: int, duration_ns: int) -> None:
        """Take note of a step's tokens, drafts among them, and its time, guesses included."""
        self._lengths.observe(num_tokens, duration_ns - self._guess_ns)

    def check_invariants(self, live: Iterable[Sequence]) -> None:
        """Raise ``AssertionError`` if it holds anything for other than live sequences. For tests."""
        self._proposer.check_invariants(live)

    def _limit(self, sequence: Sequence) -> int:
        """How many tokens it could use, if all of them were right: one more comes of verifying them."""
        longest = min(sequence.max_num_tokens, self._max_model_len)
        return min(self._max_tokens, longest - sequence.num_tokens - 1)
