"""From logits to tokens.

Order for each row: logit bias, stop tokens barred before ``min_tokens``, penalties, temperature, top-k,
top-p, min-p; then the inverse of the cumulative distribution in token-id order at the row's own uniform
number. Rows get only what they ask for: greedy rows are an argmax. Log-probabilities are those of the raw
logits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from reference_server.engine.law import certain
from reference_server.engine.randomness import uniform
from reference_server.engine.request import SamplingParams, TokenLogprob
from reference_server.engine.truncation import survivors

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence as SequenceOf

    from reference_server.engine.sampling_state import SamplingState

GREEDY_BELOW = 1e-5
"""Temperatures below this mean greedy."""


@dataclass(frozen=True, slots=True)
class SampledToken:
    """The next token of a sequence, with its log-probabilities if asked for."""

    token_id: int
    logprob: TokenLogprob | None = None


class Sampler:
    """Chooses the next token of each sequence."""

    def __init__(self, eos_token_ids: tuple[int, ...]) -> None:
        self._eos_token_ids = eos_token_ids

    def sample(self, logits: Tensor, sequences: SequenceOf[SamplingState]) -> list[SampledToken]:
        """Choose one token for each row.

        Args:
            logits: ``[R, vocab_size]`` float32.
            sequences: The R sequences, as they were when their logits were computed.
        """
        adjusted = self._adjusted(logits, sequences)
        chosen = _greedy(adjusted, sequences)
        for row, sequence in enumerate(sequences):
            if not _is_greedy(sequence):
                chosen[row] = _draw(adjusted[row], sequence)
        logprobs = logprobs_of(logits, chosen, sequences)
        return [SampledToken(token, logprobs.get(row)) for row, token in enumerate(chosen)]

    def laws(self, logits: Tensor, sequences: SequenceOf[SamplingState]) -> Tensor:
        """The laws by which tokens are chosen, float64 ``[R, vocab_size]``; greedy ones are sure of one.

        Args:
            logits: ``[R, vocab_size]`` float32.
            sequences: The R sequences, as they were when their logits were computed.
        """
        adjusted = self._adjusted(logits, sequences)
        best = torch.tensor(_greedy(adjusted, sequences), device=logits.device)
        laws = certain(best, logits.shape[-1])
        for row, sequence in enumerate(sequences):
            if not _is_greedy(sequence):
                laws[row] = _law(adjusted[row], sequence)
        return laws

    def _adjusted(self, logits: Tensor, sequences: SequenceOf[SamplingState]) -> Tensor:
        """Logits after bias, barred tokens and penalties: the same tensor if no row wants any."""
        wanting = [row for row, s in enumerate(sequences) if _wants_adjustment(s)]
        if not wanting:
            return logits
        logits = logits.clone()
        for row in wanting:
            self._adjust(logits[row], sequences[row])
        return logits

    def _adjust(self, row: Tensor, sequence: SamplingState) -> None:
        params = sequence.sampling
        if params.logit_bias:
            ids, values = _tensors(params.logit_bias, row.device)
            row[ids] += values
        if sequence.num_output_tokens < params.min_tokens:
            row[[*self._eos_token_ids, *params.stop_token_ids]] = float("-inf")
        if _has_penalty(params):
            _penalize(row, sequence)


def _wants_adjustment(sequence: SamplingState) -> bool:
    params = sequence.sampling
    too_short = sequence.num_output_tokens < params.min_tokens
    return bool(params.logit_bias) or too_short or _has_penalty(params)


def _has_penalty(params: SamplingParams) -> bool:
    return (
        params.repetition_penalty != 1.0 or params.frequency_penalty != 0.0 or params.presence_penalty != 0.0
    )


def _penalize(row: Tensor, sequence: SamplingState) -> None:
    """Repetition over prompt and output first, then frequency and presence over the output, in place."""
    params = sequence.sampling
    if params.repetition_penalty != 1.0:
        seen = torch.tensor(sorted(sequence.prompt_token_set | sequence.output_counts.keys())).to(row.device)
        scores = row[seen]
        penalty = params.repetition_penalty
        row[seen] = torch.where(scores > 0, scores / penalty, scores * penalty)
    if sequence.output_counts:
        ids, counts = _tensors(sequence.output_counts, row.device)
        row[ids] -= params.frequency_penalty * counts + params.presence_penalty


def _tensors(values: Mapping[int, float], device: torch.device) -> tuple[Tensor, Tensor]:
    """Keys and values of a mapping by token id."""
    ids = torch.tensor(list(values.keys()), device=device)
    return ids, torch.tensor(list(values.values()), dtype=torch.float32, device=device)


def _is_greedy(sequence: SamplingState) -> bool:
    return sequence.sampling.temperature < GREEDY_BELOW


def _greedy(logits: Tensor, sequences: SequenceOf[SamplingState]) -> list[int]:
    """The best token of each greedy row; anything for the others."""
    rows = [row for row, sequence in enumerate(sequences) if _is_greedy(sequence)]
    if len(rows) == len(sequences):
        return _best(logits)
    chosen = [0] * len(sequences)
    for row, token_id in zip(rows, _best(logits[rows]) if rows else (), strict=True):
        chosen[row] = token_id
    return chosen


def _best(logits: Tensor) -> list[int]:
    """The best token of each row, of equals the first. numpy takes a tenth of the time that torch takes."""
    best: list[int] = logits.cpu().numpy().argmax(axis=-1).tolist()
    return best


def _draw(row: Tensor, sequence: SamplingState) -> int:
    """A token of ``row [vocab_size]`` by the sequence's own uniform number."""
    row = row / sequence.sampling.temperature
    ids = survivors(row, sequence.sampling)
    if ids is not None:
        row = row[ids]
    cumulative = row.softmax(dim=-1).double().cumsum(dim=-1)
    total = cumulative[-1].item()
    target = min(uniform(sequence.sampling.seed, sequence.num_tokens) * total, math.nextafter(total, 0.0))
    index = int(torch.searchsorted(cumulative, target, right=True))
    return index if ids is None else int(ids[index])


def _law(row: Tensor, sequence: SamplingState) -> Tensor:
    """Of ``row [vocab_size]``: 0 for tokens that can't be drawn."""
    row = row / sequence.sampling.temperature
    ids = survivors(row, sequence.sampling)
    if ids is None:
        return row.softmax(dim=-1).double()
    law = torch.zeros(row.shape[-1], dtype=torch.float64, device=row.device)
    law[ids] = row[ids].softmax(dim=-1).double()
    return law


def logprobs_of(
    logits: Tensor, chosen: list[int], sequences: SequenceOf[SamplingState]
) -> dict[int, TokenLogprob]:
    """Log-probabilities by row, for the rows that want them: of raw logits ``[R, vocab_size]``."""
    found = {}
    for row, (token_id, sequence) in enumerate(zip(chosen, sequences, strict=True)):
        wanted = sequence.sampling.logprobs
        if wanted is None:
            continue
        scores = logits[row].log_softmax(dim=-1)
        best = scores.topk(min(wanted, scores.shape[-1]))
        top = list(zip(best.indices.tolist(), best.values.tolist(), strict=True))
        found[row] = TokenLogprob(token_id, scores[token_id].item(), top)
    return found
