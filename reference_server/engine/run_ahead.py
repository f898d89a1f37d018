"""One step of overlap: a GPU decodes the next tokens while the host still works on those before.

When a step's tokens are chosen, and before the host has read them, the device is given the next step of all
sequences that will surely or probably go on; it takes their tokens from its own memory. The next step that is
scheduled takes over what of it was computed so, and computes the rest.

Nothing is assumed: a row is taken over only if its sequence is scheduled for the same token in the same slot.
A sequence that ended meanwhile was computed once for nothing, and wrote to a slot that was its own then; who
owns the block by now writes to it later, in the order of the stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch

from reference_server.engine.batch import Batch, make_batch
from reference_server.engine.upload import upload

if TYPE_CHECKING:
    from torch import Tensor

    from reference_server.engine.block_manager import BlockManager
    from reference_server.engine.device_sampler import Choice, DeviceSampler
    from reference_server.engine.sampler import SampledToken
    from reference_server.engine.sequence import Sequence
    from reference_server.engine.step_plan import ScheduledSequence


class AheadRunner(Protocol):
    """A runner that can take tokens from the device."""

    def run(self, batch: Batch, token_ids: Tensor | None = None) -> Tensor:
        """Logits of the rows that sample; ``token_ids`` in place of the batch's."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a sequence's next token is chosen: a row, after so many tokens, stored in a slot."""

    row: int
    num_tokens: int
    slot: int


@dataclass(frozen=True, slots=True)
class _Ahead:
    """A step that was begun before its turn."""

    choice: Choice
    places: dict[Sequence, _Place]


class RunAhead:
    """Computes steps, and begins the next.

    Args:
        runner: Computes batches.
        sampler: Chooses tokens without reading them.
        blocks: Gives sequences the block that their next token may need.
        max_model_len: Tokens of a sequence at most.
    """

    def __init__(
        self, runner: AheadRunner, sampler: DeviceSampler, blocks: BlockManager, max_model_len: int
    ) -> None:
        self._runner, self._sampler, self._blocks = runner, sampler, blocks
        self._max_model_len = max_model_len
        self._ahead: _Ahead | None = None

    def compute(
        self, scheduled: list[ScheduledSequence], num_padding_tokens: int
    ) -> dict[Sequence, list[SampledToken]]:
        """The token of each scheduled sequence that samples. There are no drafts, and no padding."""
        assert not num_padding_tokens, "padded steps are not begun before their turn"
        choices = self._choices(scheduled)
        self._ahead = None
        if all(item.samples for item in scheduled):
            self._ahead = self._begin_next(choices)
        found: dict[Sequence, list[SampledToken]] = {}
        for choice, rows in choices:
            sampled = choice.read()
            found |= {sequence: [sampled[row]] for sequence, row in rows.items()}
        return found

    def _choices(self, scheduled: list[ScheduledSequence]) -> list[tuple[Choice, dict[Sequence, int]]]:
        """What was computed ahead of the scheduled work, then the rest, with the rows that count."""
        choices, rest = [], scheduled
        if self._ahead is not None:
            taken = {item.sequence: row for item in scheduled if (row := self._row_ahead(item)) is not None}
            rest = [item for item in scheduled if item.sequence not in taken]
            choices += [(self._ahead.choice, taken)] if taken else []
        if rest:
            batch = make_batch(rest, self._blocks.block_size)
            choice = self._sampler.choose(self._runner.run(batch), batch.sampling_sequences)
            choices.append((choice, {s: row for row, s in enumerate(batch.sampling_sequences)}))
        return choices

    def _row_ahead(self, item: ScheduledSequence) -> int | None:
        """The row in which just this token was computed already."""
        sequence = item.sequence
        place = self._ahead.places.get(sequence) if self._ahead is not None else None
        if place is None or item.num_scheduled_tokens != 1 or place.num_tokens != sequence.num_tokens:
            return None
        return place.row if place.slot == self._slot(sequence, sequence.num_tokens - 1) else None

    def _begin_next(self, choices: list[tuple[Choice, dict[Sequence, int]]]) -> _Ahead | None:
        """Give the device the step after these choices, unless that takes what only the host will know."""
        going = [{s: row for s, row in rows.items() if self._may_go_on(s)} for _, rows in choices]
        sequences = [sequence for rows in going for sequence in rows]
        if not sequences or any(_has_penalty(sequence) for sequence in sequences):
            return None
        for sequence in sequences:
            if not self._blocks.can_grow(sequence, sequence.num_tokens + 1):
                return None
            self._blocks.grow(sequence, sequence.num_tokens + 1)
        parts = [
            _select(choice.token_ids, list(rows.values()))
            for (choice, _), rows in zip(choices, going, strict=True)
            if rows
        ]
        batch = self._next_batch(sequences)
        logits = self._runner.run(batch, torch.cat(parts) if len(parts) > 1 else parts[0])
        slots = batch.slot_mapping.tolist()
        places = {s: _Place(row, s.num_tokens + 1, slots[row]) for row, s in enumerate(sequences)}
        return _Ahead(self._sampler.choose(logits, sequences, num_unread=1), places)

    def _may_go_on(self, sequence: Sequence) -> bool:
        """Whether the token that is not read yet may be followed by another."""
        num_tokens = sequence.num_tokens + 1
        return num_tokens < min(sequence.max_num_tokens, self._max_model_len)

    def _next_batch(self, sequences: list[Sequence]) -> Batch:
        """One more token of each; which tokens, the host does not know."""
        size, rows = len(sequences), np.arange(len(sequences))
        tables = np.zeros((size, max(len(s.block_table) for s in sequences)), dtype=np.int64)
        for row, sequence in enumerate(sequences):
            tables[row, : len(sequence.block_table)] = sequence.block_table
        positions = np.array([sequence.num_tokens for sequence in sequences])
        return Batch(
            token_ids=np.zeros(size, dtype=np.int64),
            positions=positions,
            slot_mapping=np.array([self._slot(s, s.num_tokens) for s in sequences]),
            query_starts=np.arange(size + 1),
            context_lens=positions + 1,
            block_tables=tables,
            num_decodes=size,
            sampling_rows=rows,
            sampling_sequences=sequences,
        )

    def _slot(self, sequence: Sequence, position: int) -> int:
        block_size = self._blocks.block_size
        return sequence.block_table[position // block_size] * block_size + position % block_size


def _has_penalty(sequence: Sequence) -> bool:
    """Whether a token's chances depend on those before it, which the host counts."""
    params = sequence.sampling
    penalties = (params.frequency_penalty, params.presence_penalty, params.repetition_penalty - 1.0)
    return any(penalties)


def _select(token_ids: Tensor, rows: list[int]) -> Tensor:
    """Rows of a tensor on the device; itself if they are all."""
    if rows == list(range(token_ids.shape[0])):
        return token_ids
    (places,) = upload([np.array(rows)], token_ids.device)
    return token_ids.index_select(0, places)
