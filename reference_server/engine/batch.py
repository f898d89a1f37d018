"""The numbers of one step, as host arrays: what the model and the attention backend are shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from reference_server.engine.prompt_scores import ScoredPiece, scored_piece
from reference_server.engine.request import EngineRequest, SamplingParams
from reference_server.engine.sequence import Sequence
from reference_server.engine.step_plan import ScheduledSequence

if TYPE_CHECKING:
    from collections.abc import Mapping


def _padding() -> ScheduledSequence:
    """A token 0 that no sequence owns and nothing follows, in block 0, which is nobody's."""
    request = EngineRequest(
        request_id="", prompt_token_ids=[0, 0], sampling=SamplingParams(max_tokens=1, seed=0)
    )
    nobody = Sequence(request)
    nobody.block_table.append(0)
    return ScheduledSequence(nobody, 1)


_PADDING = _padding()


@dataclass(frozen=True, kw_only=True)
class Batch:
    """T tokens of B sequences. Those with one token come first; a draft follows its sequence's own tokens.

    A token of padding counts as a sequence of its own, from which nothing is chosen.

    Attributes:
        token_ids: int64 ``[T]``.
        positions: int64 ``[T]``, each token's place in its sequence.
        slot_mapping: int64 ``[T]``, where its key and value go: block x block_size + offset.
        query_starts: int64 ``[B + 1]``, where each sequence's tokens begin in ``token_ids``.
        context_lens: int64 ``[B]``, tokens of each sequence in the pool after the step.
        block_tables: int64 ``[B, max blocks]``, padded with block 0.
        num_decodes: How many sequences at the front have one token.
        sampling_rows: int64 ``[R]``, the rows from which a next token is chosen.
        sampling_sequences: The sequences they belong to: a row each, and one more for each drafted token.
        drafts: The drafted tokens of those that have any.
        scored: Pieces of prompts whose own tokens are scored.
    """

    token_ids: npt.NDArray[np.int64]
    positions: npt.NDArray[np.int64]
    slot_mapping: npt.NDArray[np.int64]
    query_starts: npt.NDArray[np.int64]
    context_lens: npt.NDArray[np.int64]
    block_tables: npt.NDArray[np.int64]
    num_decodes: int
    sampling_rows: npt.NDArray[np.int64]
    sampling_sequences: list[Sequence]
    drafts: Mapping[Sequence, tuple[int, ...]] = field(default_factory=dict)
    scored: list[ScoredPiece] = field(default_factory=list)


def make_batch(scheduled: list[ScheduledSequence], block_size: int, num_padding_tokens: int = 0) -> Batch:
    """Lay out at least one scheduled sequence, and tokens that are computed for nobody."""
    padded = [*scheduled, *[_PADDING] * num_padding_tokens]
    ordered = sorted(padded, key=lambda item: item.num_scheduled_tokens > 1)
    counts = np.array([item.num_scheduled_tokens for item in ordered], dtype=np.int64)
    starts = np.concatenate([[0], counts.cumsum()])
    firsts = np.array([item.sequence.num_computed_tokens for item in ordered], dtype=np.int64)
    rows = np.repeat(np.arange(len(ordered)), counts)
    positions = np.arange(starts[-1]) - starts[rows] + firsts[rows]
    tables = _block_tables([item.sequence for item in ordered])
    sampling = [item.samples for item in ordered]
    pieces = [scored_piece(item, int(start)) for item, start in zip(ordered, starts, strict=False)]
    num_sampling = np.array([len(item.draft) + 1 for item in ordered])[sampling]
    return Batch(
        token_ids=_token_ids(ordered),
        positions=positions,
        slot_mapping=tables[rows, positions // block_size] * block_size + positions % block_size,
        query_starts=starts,
        context_lens=firsts + counts,
        block_tables=tables,
        num_decodes=int((counts == 1).sum()),
        sampling_rows=_last_rows(starts[1:][sampling], num_sampling),
        sampling_sequences=[item.sequence for item in ordered if item.samples],
        drafts={item.sequence: item.draft for item in ordered if item.draft},
        scored=[piece for piece in pieces if piece is not None],
    )


def _last_rows(ends: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The last ``counts`` rows before each of ``ends``, ascending."""
    firsts = ends - counts
    before = counts.cumsum() - counts
    return np.repeat(firsts - before, counts) + np.arange(counts.sum())


def _token_ids(ordered: list[ScheduledSequence]) -> npt.NDArray[np.int64]:
    token_ids: list[int] = []
    for item in ordered:
        first = item.sequence.num_computed_tokens
        token_ids += item.sequence.token_ids[first : first + item.num_own_tokens]
        token_ids += item.draft
    return np.array(token_ids, dtype=np.int64)


def _block_tables(sequences: list[Sequence]) -> npt.NDArray[np.int64]:
    width = max(len(sequence.block_table) for sequence in sequences)
    tables = np.zeros((len(sequences), width), dtype=np.int64)
    for row, sequence in enumerate(sequences):
        tables[row, : len(sequence.block_table)] = sequence.block_table
    return tables
