"""Drafted tokens that were drawn: rejection sampling, after which tokens have the target's own law.

A token x that was drawn from the law q is accepted with probability min(1, p(x) / q(x)), where p is the
target's law at its position. The first that is refused is replaced by a draw from what p has more than q,
max(p - q, 0), and ends the draft; after a draft that stands whole one more token is drawn from p (Leviathan,
Kalman, Matias 2023; Chen and others 2023). Greedy requests need no case of their own: their laws are sure of
one token.

Each decision has a random number of its own, by seed and position. Which of them decide a token depends on
how long drafts were, so a text is repeatable as far as those are.
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

import torch

from reference_server.engine.law import draw
from reference_server.engine.randomness import Stream, uniform
from reference_server.engine.sampler import SampledToken, logprobs_of
from reference_server.engine.verification import sampling_states
from reference_server.speculative import Proposer

if TYPE_CHECKING:
    from collections.abc import Sequence as SequenceOf

    from torch import Tensor

    from reference_server.engine.batch import Batch
    from reference_server.engine.computing import TokenSampler
    from reference_server.engine.sampling_state import SamplingState
    from reference_server.engine.sequence import Sequence


class DrawingProposer(Proposer):
    """Draws its drafts. How much of one is verified must not depend on its tokens."""

    @abc.abstractmethod
    def laws(self, sequence: Sequence) -> Tensor:
        """From which the tokens of a sequence's last draft were drawn, float64 ``[k, vocab_size]``."""


def num_accepted(target: SequenceOf[float], draft: SequenceOf[float], numbers: SequenceOf[float]) -> int:
    """How many tokens of a draft stand.

    Args:
        target: The probability that the target gives each of them, after those before.
        draft: The probability with which each was drawn, above 0.
        numbers: Uniform in [0, 1), one for each.
    """
    for count, (p, q, number) in enumerate(zip(target, draft, numbers, strict=True)):
        if number * q >= p:
            return count
    return len(draft)


def residual(target: Tensor, draft: Tensor) -> Tensor:
    """What replaces a refused token, up to a factor: what the target's law has more than the draft's.

    Where rounding leaves nothing of that, the laws are the same, and either serves.
    """
    rest = (target - draft).clamp(min=0)
    return rest if bool(rest.any()) else target


def rejection_sample(
    logits: Tensor, batch: Batch, sampler: TokenSampler, proposer: DrawingProposer
) -> dict[Sequence, list[SampledToken]]:
    """The next tokens of each sequence, at least one.

    Args:
        logits: ``[R, vocab_size]`` float32, of the target.
        batch: With R rows that sample.
        sampler: Makes laws of logits.
        proposer: Made the drafts.
    """
    states = sampling_states(batch)
    laws = sampler.laws(logits, states)
    found, row = {}, 0
    for sequence in batch.sampling_sequences:
        draft = batch.drafts.get(sequence, ())
        rows = slice(row, row + len(draft) + 1)
        drawn = proposer.laws(sequence)[: len(draft)] if draft else laws[:0]
        token_ids = verified(draft, laws[rows], drawn, states[row])
        found[sequence] = _sampled(token_ids, logits[rows], states[rows])
        row = rows.stop
    return found


def verified(draft: tuple[int, ...], target: Tensor, drawn: Tensor, state: SamplingState) -> list[int]:
    """What stands of a draft of k tokens, and one more.

    Args:
        draft: Its tokens.
        target: The target's laws along it and after it, float64 ``[k + 1, vocab_size]``.
        drawn: The laws they were drawn from, float64 ``[k, vocab_size]``.
        state: The sequence before it, whose seed and position give the random numbers.
    """
    seed, first = state.sampling.seed, state.num_tokens
    numbers = [uniform(seed, first + place, Stream.ACCEPTANCE) for place in range(len(draft))]
    count = num_accepted(_chances(target, draft), _chances(drawn, draft), numbers)
    law, stream = target[count], Stream.TOKEN
    if count < len(draft):
        law, stream = residual(law, drawn[count]), Stream.RESIDUAL
    return [*draft[:count], *draw(law[None], [uniform(seed, first + count, stream)])]


def _chances(laws: Tensor, token_ids: tuple[int, ...]) -> list[float]:
    """Of each token by the law at its place."""
    columns = torch.tensor(token_ids, dtype=torch.int64, device=laws.device)[:, None]
    chances: list[float] = laws[: len(token_ids)].gather(1, columns)[:, 0].tolist()
    return chances


def _sampled(token_ids: list[int], logits: Tensor, states: list[SamplingState]) -> list[SampledToken]:
    """Tokens with the log-probabilities that the sequence wants."""
    logprobs = logprobs_of(logits, token_ids, states[: len(token_ids)])
    return [SampledToken(token_id, logprobs.get(row)) for row, token_id in enumerate(token_ids)]
