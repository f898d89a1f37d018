"""From logits to tokens on a CUDA device: all rows at once, and one read of the result by the host.

The same choices as :class:`~reference_server.engine.sampler.Sampler`, which is the specification; a draw may
differ where the order of a sum decides. What a batch does not ask for is not computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from reference_server.engine.download import Download
from reference_server.engine.law import certain
from reference_server.engine.logit_edits import LogitEdits
from reference_server.engine.randomness import uniform
from reference_server.engine.request import TokenLogprob
from reference_server.engine.sampler import GREEDY_BELOW, SampledToken
from reference_server.engine.upload import to_device, upload

if TYPE_CHECKING:
    from collections.abc import Sequence as SequenceOf

    from reference_server.engine.sampling_state import SamplingState


@dataclass(frozen=True)
class Choice:
    """Tokens that were chosen on the device, on their way to the host.

    Attributes:
        token_ids: int64 ``[R]``, on the device.
    """

    token_ids: Tensor
    _sequences: SequenceOf[SamplingState]
    _download: Download
    _has_logprobs: bool

    def read(self) -> list[SampledToken]:
        """Wait until they are on the host."""
        numbers = self._download.read()
        if self._has_logprobs:
            return _with_logprobs(numbers, self._sequences)
        return [SampledToken(token_id) for token_id in numbers]


class DeviceSampler:
    """Chooses the next token of each sequence."""

    def __init__(self, eos_token_ids: tuple[int, ...]) -> None:
        self._eos_token_ids = eos_token_ids

    def sample(self, logits: Tensor, sequences: SequenceOf[SamplingState]) -> list[SampledToken]:
        """Choose one token for each row, and read them.

        Args:
            logits: ``[R, vocab_size]`` float32; left as they are.
            sequences: The R sequences, as they were when their logits were computed.
        """
        return self.choose(logits, sequences).read()

    @torch.inference_mode()
    def laws(self, logits: Tensor, sequences: SequenceOf[SamplingState]) -> Tensor:
        """The laws by which tokens are chosen, float64 ``[R, vocab_size]``; greedy ones are sure of one."""
        adjusted = LogitEdits(sequences, self._eos_token_ids).apply(logits)
        laws = certain(adjusted.argmax(dim=-1), logits.shape[-1])
        if drawing := [row for row, sequence in enumerate(sequences) if not _is_greedy(sequence)]:
            (rows,) = upload([np.array(drawing)], logits.device)
            scores = _scores(adjusted.index_select(0, rows), [sequences[row] for row in drawing])
            laws.index_copy_(0, rows.long(), scores.softmax(dim=-1).double())
        return laws

    @torch.inference_mode()
    def choose(self, logits: Tensor, sequences: SequenceOf[SamplingState], num_unread: int = 0) -> Choice:
        """As :meth:`sample`, without waiting for the device.

        Args:
            logits: ``[R, vocab_size]`` float32; left as they are.
            sequences: The R sequences.
            num_unread: Tokens at the end of each that the host has not read. Penalties can't count them.
        """
        adjusted = LogitEdits(sequences, self._eos_token_ids, num_unread).apply(logits)
        chosen = adjusted.argmax(dim=-1)
        drawing = [row for row, sequence in enumerate(sequences) if not _is_greedy(sequence)]
        if drawing:
            (rows,) = upload([np.array(drawing)], logits.device)
            drawers = [sequences[row] for row in drawing]
            drawn = _draw(adjusted.index_select(0, rows), drawers, num_unread)
            chosen = chosen.index_copy(0, rows.long(), drawn)
        num_logprobs = max((-1 if (n := s.sampling.logprobs) is None else n for s in sequences), default=-1)
        wants_logprobs = num_logprobs >= 0
        numbers = _packed_logprobs(logits, chosen, num_logprobs) if wants_logprobs else chosen
        return Choice(chosen, sequences, Download(numbers), wants_logprobs)


def _is_greedy(sequence: SamplingState) -> bool:
    return sequence.sampling.temperature < GREEDY_BELOW


def _draw(logits: Tensor, sequences: SequenceOf[SamplingState], num_unread: int) -> Tensor:
    """A token of each row ``[R, vocab_size]`` by the row's own uniform number: int64 ``[R]``."""
    numbers = [uniform(s.sampling.seed, s.num_tokens + num_unread) for s in sequences]
    cumulative = _scores(logits, sequences).softmax(dim=-1).double().cumsum(dim=-1)
    total = cumulative[:, -1]
    wanted = to_device(np.array(numbers), logits.device) * total
    target = torch.minimum(wanted, torch.nextafter(total, torch.zeros_like(total)))
    return torch.searchsorted(cumulative, target[:, None], right=True)[:, 0]


def _scores(logits: Tensor, sequences: SequenceOf[SamplingState]) -> Tensor:
    """Logits after temperature, top-k, top-p and min-p; -inf for what can't be drawn."""
    vocab_size = logits.shape[-1]
    params = [sequence.sampling for sequence in sequences]
    columns = [
        [p.temperature for p in params],
        [p.top_k if 0 < p.top_k < vocab_size else vocab_size for p in params],
        [p.top_p for p in params],
        [p.min_p for p in params],
    ]
    temperature, top_k, top_p, min_p = to_device(np.array(columns), logits.device)
    scores: Tensor = logits / temperature[:, None].float()
    if any(0 < p.top_k < vocab_size or p.top_p < 1.0 or p.min_p > 0.0 for p in params):
        scores = _truncated(scores, top_k, top_p, min_p)
    return scores


def _truncated(scores: Tensor, top_k: Tensor, top_p: Tensor, min_p: Tensor) -> Tensor:
    """Scores with all but the survivors of each row at -inf; of equals at the border the lowest ids stay."""
    best, ids = scores.sort(dim=-1, descending=True, stable=True)
    place = torch.arange(best.shape[-1], device=best.device)
    in_top_k = place[None, :] < top_k[:, None]
    left = best.masked_fill(~in_top_k, float("-inf"))
    probabilities = left.softmax(dim=-1)
    before = probabilities.cumsum(dim=-1) - probabilities
    num_by_p = torch.where(top_p < 1.0, (before < top_p[:, None]).sum(dim=-1), best.shape[-1])
    is_likely = (left - left[:, :1]).exp() >= min_p[:, None]
    count = torch.minimum(torch.minimum(top_k.long(), num_by_p), is_likely.sum(dim=-1)).clamp(min=1)
    hidden = torch.empty_like(best, dtype=torch.bool).scatter_(-1, ids, place[None, :] >= count[:, None])
    return scores.masked_fill(hidden, float("-inf"))


def _packed_logprobs(logits: Tensor, chosen: Tensor, count: int) -> Tensor:
    """Chosen id, its log-probability, ``count`` best ids, theirs: float64 ``[R, 2 + 2 count]``."""
    scores = logits.log_softmax(dim=-1)
    best = scores.topk(min(count, scores.shape[-1]), dim=-1)
    own = scores.gather(-1, chosen[:, None])
    return torch.cat(
        [chosen[:, None].double(), own.double(), best.indices.double(), best.values.double()], -1
    )


def _with_logprobs(rows: list[list[float]], sequences: SequenceOf[SamplingState]) -> list[SampledToken]:
    """Tokens of packed rows; log-probabilities for those sequences that want them, as many as they want."""
    sampled = []
    for (token, logprob, *best), sequence in zip(rows, sequences, strict=True):
        wanted, token_id = sequence.sampling.logprobs, int(token)
        if wanted is None:
            sampled.append(SampledToken(token_id))
            continue
        half = len(best) // 2
        top = [(int(i), value) for i, value in zip(best[:half], best[half:], strict=True)][:wanted]
        sampled.append(SampledToken(token_id, TokenLogprob(token_id, logprob, top)))
    return sampled
