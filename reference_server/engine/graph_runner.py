"""Runs a model on a CUDA device: decoding as CUDA graphs, everything else eagerly.

A graph is the whole step of a number of rows, recorded once and launched at the cost of one kernel. A batch
takes the smallest graph that holds it; rows that are left over put token 0 into block 0, which is nobody's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from reference_server.engine.batch import Batch
from reference_server.engine.prompt_scores import score
from reference_server.engine.upload import lay_out, pack, staged, upload

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.attention import GraphableBackend

MAX_GRAPH_SIZE = 256
_NUM_WARM_UPS = 2


def graph_sizes(max_num_seqs: int) -> list[int]:
    """Batch sizes to record, so that few rows are left over: 1, 2, 4, 8, then every 8, to 256 at most."""
    largest = min(-(-max_num_seqs // 8) * 8, MAX_GRAPH_SIZE)
    small = [size for size in (1, 2, 4) if size < max_num_seqs]
    return small + list(range(8, largest + 1, 8)) if max_num_seqs > 4 else [*small, max_num_seqs]


class DecodeInputs:
    """What a graph reads, in memory of the device that stays where it is.

    Args:
        max_batch_size: Rows at most.
        max_blocks: Blocks of a sequence at most.
        device: Of the memory.
    """

    def __init__(self, max_batch_size: int, max_blocks: int, device: torch.device) -> None:
        self._device, self._max_blocks = device, max_blocks
        num_rows = -(-max_batch_size // 4) * 4
        self._memory = torch.zeros(4 * num_rows + 4 + num_rows * max_blocks, dtype=torch.int32, device=device)

    def views(self, size: int) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Token ids, positions, slots and contexts ``[size]``, table width ``[1]``, tables."""
        places, _ = lay_out([size, size, size, size, 1, size * self._max_blocks])
        token_ids, positions, slots, contexts, width, tables = (self._memory[place] for place in places)
        return token_ids, positions, slots, contexts, width, tables

    def clear(self) -> None:
        """Zeros everywhere: token 0, block 0."""
        self._memory.zero_()

    def fill(self, batch: Batch, size: int) -> None:
        """Put a batch of single tokens where the graph of ``size`` rows reads it."""
        num_rows, width = batch.block_tables.shape
        columns = np.zeros((4, size), dtype=np.int32)
        columns[3] = 1  # a left-over row sees one token, of block 0
        columns[:, :num_rows] = (batch.token_ids, batch.positions, batch.slot_mapping, batch.context_lens)
        tables = np.zeros((size, width), dtype=np.int32)
        tables[:num_rows] = batch.block_tables
        packed, _ = pack([*columns, np.array([width]), tables.ravel()])
        self._memory[: packed.size].copy_(staged(packed, self._device), non_blocking=True)


class GraphRunner:
    """A model and its attention backend on a CUDA device.

    Args:
        model: See :mod:`reference_server.models`.
        attention: A backend whose decoding can be recorded.
        device: Where both are.
        max_num_seqs: Rows of a decoding step at most.
        max_blocks: Blocks of a sequence at most.
        enforce_eager: Record nothing.
    """

    def __init__(
        self,
        model: Any,  # noqa: ANN401  # see reference_server.models
        attention: GraphableBackend,
        device: torch.device,
        *,
        max_num_seqs: int,
        max_blocks: int,
        enforce_eager: bool = False,
    ) -> None:
        self._model, self._attention, self._device = model, attention, device
        self._sizes = [] if enforce_eager else graph_sizes(max_num_seqs)
        self._inputs = DecodeInputs(max(self._sizes, default=0), max_blocks, device)
        self._graphs: dict[int, torch.cuda.CUDAGraph] = {}
        vocab_size = self._warm_up()
        self._logits = torch.empty(max(self._sizes, default=0), vocab_size, device=device)
        self._record_all()

    @torch.inference_mode()
    def run(self, batch: Batch, token_ids: Tensor | None = None) -> Tensor:
        """Compute the batch; logits ``[R, vocab_size]`` float32 of the rows that sample.

        They are overwritten by the next call. ``token_ids [T]``, on the device, replace those of the batch.
        """
        size = self._size_for(batch)
        if size is None:
            return self._run_eagerly(batch, token_ids)
        self._inputs.fill(batch, size)
        if token_ids is not None:
            self._inputs.views(size)[0][: token_ids.shape[0]].copy_(token_ids)
        self._graphs[size].replay()
        return self._logits[: len(batch.sampling_rows)]

    def _size_for(self, batch: Batch) -> int | None:
        """The graph for a batch in which every sequence decodes, with padding after them if any."""
        num_rows, num_sampling = len(batch.token_ids), len(batch.sampling_rows)
        samples_all = np.array_equal(batch.sampling_rows, np.arange(num_sampling))
        if batch.scored or num_rows != batch.num_decodes or not samples_all:
            return None
        return next((size for size in self._sizes if size >= num_rows), None)

    def _run_eagerly(self, batch: Batch, token_ids: Tensor | None = None) -> Tensor:
        attend = self._attention.plan(batch)
        arrays = [batch.token_ids, batch.positions, batch.sampling_rows]
        known_ids, positions, rows = upload(arrays, self._device)
        hidden = self._model(known_ids if token_ids is None else token_ids, positions, attend)
        score(batch.scored, lambda scored: self._model.logits(hidden[scored]).float())
        logits: Tensor = self._model.logits(hidden.index_select(0, rows))
        return logits.float()

    def _warm_up(self) -> int:
        """Compile what prompts need, so that no request waits for it. Returns the size of the vocabulary."""
        self.run(_empty_batch(num_decodes=0))
        return self.run(_empty_batch(num_decodes=1)).shape[1]

    @torch.inference_mode()
    def _record_all(self) -> None:
        """Largest first: the smaller ones live in its memory."""
        pool = None
        for size in reversed(self._sizes):
            self._graphs[size] = self._record(size, pool)
            pool = self._graphs[size].pool()

    def _record(self, size: int, pool: Any) -> torch.cuda.CUDAGraph:  # noqa: ANN401  # torch's handle of memory for graphs
        step = self._decode_step(size)
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # torch's
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(_NUM_WARM_UPS):
                step()
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            step()
        return graph

    def _decode_step(self, size: int) -> Callable[[], None]:
        """The step of ``size`` rows, from the inputs as they are; it leaves the first rows of the logits."""
        token_ids, positions, slots, contexts, width, tables = self._inputs.views(size)
        attend = self._attention.plan_decode(slots, contexts, tables, width)
        self._inputs.clear()
        contexts.fill_(1)

        def step() -> None:
            logits = self._model.logits(self._model(token_ids, positions, attend))
            self._logits[:size].copy_(logits)

        return step


def _empty_batch(num_decodes: int) -> Batch:
    """A prompt of two tokens after ``num_decodes`` single ones, all in block 0."""
    num_rows, num_sequences = num_decodes + 2, num_decodes + 1
    positions = np.array([0] * num_decodes + [0, 1])
    starts = np.array([*range(num_sequences), num_rows])
    return Batch(
        token_ids=np.zeros(num_rows, dtype=np.int64),
        positions=positions,
        slot_mapping=np.zeros(num_rows, dtype=np.int64),
        query_starts=starts,
        context_lens=np.array([1] * num_decodes + [2]),
        block_tables=np.zeros((num_sequences, 2), dtype=np.int64),
        num_decodes=num_decodes,
        sampling_rows=starts[1:] - 1,
        sampling_sequences=[],
    )
