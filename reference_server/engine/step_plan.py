"""The work chosen so far for one step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_server.engine.sequence import Sequence


@dataclass(frozen=True, slots=True)
class ScheduledSequence:
    """``num_scheduled_tokens`` of ``sequence``, from its first uncomputed one.

    Attributes:
        sequence: Whose.
        num_scheduled_tokens: Its own and drafted ones.
        draft: The drafted ones, which follow its last own.
    """

    sequence: Sequence
    num_scheduled_tokens: int
    draft: tuple[int, ...] = ()

    @property
    def num_own_tokens(self) -> int:
        """Tokens of the sequence that the step computes, without the draft."""
        return self.num_scheduled_tokens - len(self.draft)

    @property
    def is_decode(self) -> bool:
        """Whether it only goes on with its answer."""
        return self.num_own_tokens == self.sequence.num_uncomputed_tokens == 1

    @property
    def samples(self) -> bool:
        """Whether the step computes its last token, so that the next can be chosen."""
        return self.num_own_tokens == self.sequence.num_uncomputed_tokens


class StepPlan:
    """Tokens by sequence, and what is left of the budget.

    Attributes:
        counts: Tokens of each to compute, without drafts.
        drafts: Drafted tokens to compute as well.
        budget: Tokens that may still be added, never negative.
        long_budget: Tokens of prompts that take several steps that may still be added, never negative.
        num_padding_tokens: Tokens computed for nobody, as others are shorter than the longest.
        num_admitted: Sequences that began to run in this step.
        preempted: Sequences that lost their blocks in this step.
    """

    def __init__(self, budget: int) -> None:
        self.counts: dict[Sequence, int] = {}
        self.drafts: dict[Sequence, tuple[int, ...]] = {}
        self.budget = budget
        self.long_budget = budget
        self.num_padding_tokens = 0
        self.num_admitted = 0
        self.preempted: set[Sequence] = set()

    @property
    def num_tokens(self) -> int:
        """Tokens to compute, without drafts."""
        return sum(self.counts.values())

    def add(self, sequence: Sequence, count: int) -> None:
        """Let the step compute ``count`` tokens. A whole prompt may exceed the budget."""
        self.counts[sequence] = count
        self.budget = max(0, self.budget - count)
        if count > 1:
            self.long_budget = max(0, self.long_budget - count)

    def pad(self, count: int) -> None:
        """Let the step compute ``count`` tokens for nobody. Those of whole prompts may exceed the budget."""
        self.num_padding_tokens += count
        self.budget = max(0, self.budget - count)

    def add_draft(self, sequence: Sequence, draft: list[int]) -> None:
        """Let the step compute drafted tokens after the last own one of a sequence."""
        self.drafts[sequence] = tuple(draft)
        self.budget -= len(draft)

    def scheduled(self) -> list[ScheduledSequence]:
        """The step's work."""
        return [self._scheduled(sequence, count) for sequence, count in self.counts.items()]

    def _scheduled(self, sequence: Sequence, count: int) -> ScheduledSequence:
        draft = self.drafts.get(sequence, ())
        return ScheduledSequence(sequence, count + len(draft), draft)
