"""``triton``: Triton kernels over the block table, on a CUDA device.

Sequences that add one token are one call, which a CUDA graph can hold; the chunks of prompts are another. The
rotation of queries and keys and the store into the pool are one pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
import triton
from torch import Tensor

from reference_server.attention import GraphableBackend, KVLayout, RotatingAttend, UnsupportedBackendError
from reference_server.engine.upload import upload
from reference_server.kernels.gpu.paged_decode import Tables, choose_num_splits, paged_decode
from reference_server.kernels.gpu.paged_prefill import Chunks, paged_prefill, split_into_programs
from reference_server.kernels.gpu.rope_store import rope_store, store_twin

if TYPE_CHECKING:
    from reference_server.engine.batch import Batch


class TritonAttention(GraphableBackend):
    """Paged attention on a CUDA device; elsewhere in Triton's interpreter only, for tests."""

    def __init__(self, layout: KVLayout) -> None:
        if layout.device.type != "cuda" and not triton.knobs.runtime.interpret:
            raise UnsupportedBackendError("attention backend 'triton' needs a CUDA device; say paged")
        self._layout = layout
        shape = (layout.num_blocks + 1, 2, layout.num_kv_heads, layout.block_size, layout.head_dim)
        self._pools = [
            torch.zeros(shape, dtype=layout.dtype, device=layout.device) for _ in range(layout.num_layers)
        ]

    def plan(self, batch: Batch) -> RotatingAttend:
        """Move tables to the device, once for all layers, in one copy."""
        num_decodes, batch_size = batch.num_decodes, len(batch.context_lens)
        arrays = [batch.slot_mapping, batch.context_lens, np.array([batch.block_tables.shape[1]])]
        arrays += [batch.block_tables.ravel(), batch.query_starts]
        arrays += split_into_programs(batch.query_starts, num_decodes)
        slots, contexts, width, blocks, *chunks = upload(arrays, self._layout.device)
        num_splits = self._num_splits(num_decodes) if num_decodes else 0
        return _TritonAttend(
            pools=self._pools,
            slots=slots,
            tables=Tables(blocks, width, contexts),
            num_decodes=num_decodes,
            num_splits=num_splits,
            chunks=Chunks(*chunks) if batch_size > num_decodes else None,
        )

    def plan_decode(
        self, slots: Tensor, contexts: Tensor, block_tables: Tensor, table_width: Tensor
    ) -> RotatingAttend:
        """Read everything from the device, anew in each call."""
        batch_size = slots.shape[0]
        return _TritonAttend(
            pools=self._pools,
            slots=slots,
            tables=Tables(block_tables, table_width, contexts),
            num_decodes=batch_size,
            num_splits=self._num_splits(batch_size),
            chunks=None,
        )

    def _num_splits(self, batch_size: int) -> int:
        """By the batch size's next power of two, so that few variants are compiled."""
        layout = self._layout
        rounded = 1 << (batch_size - 1).bit_length()
        max_len = layout.num_blocks * layout.block_size
        return choose_num_splits(rounded, layout.num_kv_heads, max_len, layout.device)


@dataclass(frozen=True, kw_only=True)
class _TritonAttend(RotatingAttend):
    """Attention of one step: of its first ``num_decodes`` rows by splits, of the others by ``chunks``."""

    pools: list[Tensor]
    slots: Tensor
    tables: Tables
    num_decodes: int
    num_splits: int
    chunks: Chunks | None

    def __call__(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Store, then attend."""
        store_twin(key, value, self.pools[layer], self.slots)
        return self._attend(layer, query if query.stride(1) == query.shape[2] else query.contiguous())

    def rotate_and_attend(self, layer: int, qkv: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Rotate and store in one pass, then attend."""
        pool = self.pools[layer]
        rope_store(qkv, cos, sin, pool, self.slots)
        return self._attend(layer, qkv[:, : qkv.shape[1] - 2 * pool.shape[2]])

    def _attend(self, layer: int, query: Tensor) -> Tensor:
        pool, output = self.pools[layer], torch.empty(query.shape, dtype=query.dtype, device=query.device)
        if self.num_decodes:
            paged_decode(query[: self.num_decodes], pool, self.tables, output, self.num_splits)
        if self.chunks is not None:
            paged_prefill(query, pool, self.tables, self.chunks, output)
        return output


BACKEND = TritonAttention
