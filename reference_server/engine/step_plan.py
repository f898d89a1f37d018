"""The work chosen so far for one step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_server.engine.sequence import Sequence


@dataclass(frozen=True, slots=True)
class ScheduledSequence:
    """``num_scheduled_tokens`` of ``sequence``, from its first uncomputed one."""

    sequence: Sequence
    num_scheduled_tokens: int

    @property
    def is_decode(self) -> bool:
        """Whether it only goes on with its answer."""
        return self.num_scheduled_tokens == self.sequence.num_uncomputed_tokens == 1

    @property
    def samples(self) -> bool:
        """Whether the step computes its last token, so that the next can be chosen."""
        return self.num_scheduled_tokens == self.sequence.num_uncomputed_tokens


class StepPlan:
    """Tokens by sequence, and what is left of the budget.

    Attributes:
        counts: Tokens to compute.
        budget: Tokens that may still be added, never negative.
        long_budget: Tokens of prompts that take several steps that may still be added, never negative.
        num_admitted: Sequences that began to run in this step.
        preempted: Sequences that lost their blocks in this step.
    """

    def __init__(self, budget: int) -> None:
        self.counts: dict[Sequence, int] = {}
        self.budget = budget
        self.long_budget = budget
        self.num_admitted = 0
        self.preempted: set[Sequence] = set()

    def add(self, sequence: Sequence, count: int) -> None:
        """Let the step compute ``count`` tokens. A whole prompt may exceed the budget."""
        self.counts[sequence] = count
        self.budget = max(0, self.budget - count)
        if count > 1:
            self.long_budget = max(0, self.long_budget - count)

    def scheduled(self) -> list[ScheduledSequence]:
        """The step's work."""
        return [ScheduledSequence(sequence, count) for sequence, count in self.counts.items()]
