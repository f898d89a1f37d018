"""Drafted tokens and the model's own: what a sampler is shown of a draft, and how much of it stands.

A token is chosen at every position of a draft as if the tokens before it were the sequence's own, with the
position's own random number, and the draft stands as far as it agrees. For a guess that names one token that
is exact rejection sampling (Leviathan, Kalman, Matias 2023): a drafted token x is accepted with probability
p(x), and what is chosen in its place has the law of p without x, renormalized. And as a position's random
number doesn't depend on how the step came about, the tokens are those that would have been chosen one by one.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from reference_server.engine.sampling_state import AfterDraft, SamplingState

if TYPE_CHECKING:
    from collections.abc import Sequence as SequenceOf

    from reference_server.engine.batch import Batch
    from reference_server.engine.sampler import SampledToken
    from reference_server.engine.sequence import Sequence


def sampling_states(batch: Batch) -> list[SamplingState]:
    """For each row that samples what its sequence would be by then."""
    states: list[SamplingState] = []
    for sequence in batch.sampling_sequences:
        draft = batch.drafts.get(sequence, ())
        states.append(sequence)
        states += [AfterDraft(sequence, draft[:length]) for length in range(1, len(draft) + 1)]
    return states


def accepted_tokens(batch: Batch, sampled: SequenceOf[SampledToken]) -> dict[Sequence, list[SampledToken]]:
    """The next tokens of each sequence, at least one, from those chosen in all rows that sample."""
    rows, found = iter(sampled), {}
    for sequence in batch.sampling_sequences:
        draft = batch.drafts.get(sequence, ())
        found[sequence] = accept(draft, list(islice(rows, len(draft) + 1)))
    return found


def accept(draft: SequenceOf[int], sampled: list[SampledToken]) -> list[SampledToken]:
    """What stands of the tokens chosen along a draft: those that agree with it, and one more.

    Args:
        draft: The guess.
        sampled: Chosen after none of its tokens, after the first, ... after all: one more than the draft.
    """
    num_agreeing = 0
    for guess, chosen in zip(draft, sampled, strict=False):
        if guess != chosen.token_id:
            break
        num_agreeing += 1
    return sampled[: num_agreeing + 1]
