"""What requests change about single logits, for all rows at once: bias, barred tokens, penalties."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from reference_server.engine.upload import to_device

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from collections.abc import Sequence as SequenceOf

    from torch import Tensor

    from reference_server.engine.sampling_state import SamplingState

    Edit = Callable[[Tensor, Tensor], Tensor]
    """``edit(logits [N], values [N]) -> [N]``."""


class LogitEdits:
    """The edits that sequences ask for, in the order of :mod:`reference_server.engine.sampler`.

    Each kind is a list of (row, token id, value), no place twice, and one gather and scatter on the device.

    Args:
        sequences: One for each row.
        eos_token_ids: Barred before ``min_tokens``.
        num_unread: Output tokens of each that the host does not know yet.
    """

    def __init__(
        self, sequences: SequenceOf[SamplingState], eos_token_ids: tuple[int, ...], num_unread: int = 0
    ) -> None:
        self._kinds: list[tuple[Edit, list[tuple[int, int, float]]]] = [
            (torch.add, _entries(sequences, _biases)),
            (
                lambda logits, _: torch.full_like(logits, float("-inf")),
                _barred(sequences, eos_token_ids, num_unread),
            ),
            (_repeat, _entries(sequences, _repetitions)),
            (torch.sub, _entries(sequences, _frequencies)),
        ]

    def apply(self, logits: Tensor) -> Tensor:
        """Edited logits; the same tensor if there is nothing to edit."""
        kinds = [(edit, entries) for edit, entries in self._kinds if entries]
        if not kinds:
            return logits
        edited = logits.clone()
        for edit, entries in kinds:
            rows, ids, values = to_device(np.array(entries, dtype=np.float64).T.copy(), logits.device)
            places = rows.long() * logits.shape[-1] + ids.long()
            flat = edited.view(-1)
            flat.index_copy_(0, places, edit(flat.index_select(0, places), values.float()))
        return edited


def _entries(
    sequences: SequenceOf[SamplingState], of: Callable[[SamplingState], Iterable[tuple[int, float]]]
) -> list[tuple[int, int, float]]:
    return [(row, token, value) for row, sequence in enumerate(sequences) for token, value in of(sequence)]


def _biases(sequence: SamplingState) -> Iterable[tuple[int, float]]:
    return sequence.sampling.logit_bias.items()


def _barred(
    sequences: SequenceOf[SamplingState], eos_token_ids: tuple[int, ...], num_unread: int
) -> list[tuple[int, int, float]]:
    return [
        (row, token, 0.0)
        for row, sequence in enumerate(sequences)
        if sequence.num_output_tokens + num_unread < sequence.sampling.min_tokens
        for token in sorted({*eos_token_ids, *sequence.sampling.stop_token_ids})
    ]


def _repetitions(sequence: SamplingState) -> Iterable[tuple[int, float]]:
    penalty = sequence.sampling.repetition_penalty
    if penalty == 1.0:
        return []
    return [(token, penalty) for token in sorted(sequence.prompt_token_set | sequence.output_counts.keys())]


def _frequencies(sequence: SamplingState) -> Iterable[tuple[int, float]]:
    params = sequence.sampling
    if params.frequency_penalty == 0.0 and params.presence_penalty == 0.0:
        return []
    return [
        (token, params.frequency_penalty * count + params.presence_penalty)
        for token, count in sequence.output_counts.items()
    ]


def _repeat(logits: Tensor, penalty: Tensor) -> Tensor:
    """Divide what speaks for a token, multiply what speaks against it."""
    return torch.where(logits > 0, logits / penalty, logits * penalty)
