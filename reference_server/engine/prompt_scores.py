"""Log-probabilities of a prompt's own tokens, each after those before it.

A step that computes a piece of the prompt has the logits of the tokens that follow in it. They are taken a
few rows at a time, as a prompt's logits at once would need more memory than the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reference_server.engine.request import TokenLogprob

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from torch import Tensor

    from reference_server.engine.sequence import Sequence
    from reference_server.engine.step_plan import ScheduledSequence

MAX_ROWS = 32
"""Logits computed at once: so few that quantized layers compute as they do when they decode."""


@dataclass(frozen=True, slots=True)
class ScoredPiece:
    """Tokens of a prompt that a step scores.

    Attributes:
        sequence: Whose.
        first_row: Of the batch, after which the first of them is expected.
        token_ids: The tokens.
    """

    sequence: Sequence
    first_row: int
    token_ids: list[int]


def scored_piece(item: ScheduledSequence, first_row: int) -> ScoredPiece | None:
    """What a step has to score of a sequence, whose tokens begin at ``first_row``; None: nothing."""
    sequence = item.sequence
    if not sequence.lacks_prompt_scores:
        return None
    computed = sequence.num_computed_tokens
    begin = max(computed, len(sequence.prompt_scores)) + 1
    end = min(computed + item.num_own_tokens + 1, sequence.num_prompt_tokens)
    if begin >= end:
        return None
    return ScoredPiece(sequence, first_row + begin - 1 - computed, sequence.token_ids[begin:end])


def score(pieces: Iterable[ScoredPiece], logits_of: Callable[[slice], Tensor]) -> None:
    """Give each sequence the scores of its piece.

    Args:
        pieces: Of the batch that was computed.
        logits_of: Gives logits ``[rows, vocab_size]`` float32 after rows of the batch.
    """
    for piece in pieces:
        for begin in range(0, len(piece.token_ids), MAX_ROWS):
            targets = piece.token_ids[begin : begin + MAX_ROWS]
            first_row = piece.first_row + begin
            logits = logits_of(slice(first_row, first_row + len(targets)))
            count = piece.sequence.sampling.prompt_logprobs or 0
            piece.sequence.prompt_scores.extend(prompt_logprobs(logits, targets, count))


def prompt_logprobs(logits: Tensor, targets: list[int], count: int) -> list[TokenLogprob]:
    """Of tokens, from the logits ``[T, vocab_size]`` before each: their own, their ranks and ``count`` best.

    A token's rank is the number of tokens that are at least as likely, itself among them.
    """
    scores = logits.log_softmax(dim=-1)
    own = scores.gather(-1, scores.new_tensor(targets).long()[:, None])
    ranks = (scores >= own).sum(dim=-1).tolist()
    best = scores.topk(min(count, scores.shape[-1]), dim=-1)
    ids, values = best.indices.tolist(), best.values.tolist()
    return [
        TokenLogprob(token_id, logprob, list(zip(ids[row], values[row], strict=True)), ranks[row])
        for row, (token_id, logprob) in enumerate(zip(targets, own[:, 0].tolist(), strict=True))
    ]
