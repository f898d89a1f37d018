"""``paged``: blocks found through the block table, then fused attention.

Sequences that add one token are one batched call, a sequence that adds more (a prefill chunk) is one of its
own: in C where the kernels serve, else in torch. There the query heads of a group are rows of their key head,
which is several times faster on a CPU than ``enable_gqa``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from reference_server.attention import Attend, AttentionBackend, KVLayout
from reference_server.attention._pool import KVPool
from reference_server.kernels.paged_chunk import chunk_functions, paged_chunk
from reference_server.kernels.paged_decode import decode_functions, paged_decode

if TYPE_CHECKING:
    from reference_server.engine.batch import Batch

_Part = Callable[[int, Tensor], Tensor]
"""``part(layer, query)``: the output of those rows of the batch that it is responsible for."""


class PagedAttention(AttentionBackend):
    """Paged attention on any device.

    Attributes:
        pool: Keys and values of all layers.
    """

    def __init__(self, layout: KVLayout) -> None:
        self._layout = layout
        self._group = layout.num_heads // layout.num_kv_heads
        self.pool = KVPool(layout)

    def plan(self, batch: Batch) -> Attend:
        """Move tables to the device and build the masks, once for all layers."""
        device = self._layout.device
        slots = torch.from_numpy(batch.slot_mapping).to(device)
        tables = torch.from_numpy(batch.block_tables).to(device)
        contexts: list[int] = batch.context_lens.tolist()
        starts: list[int] = batch.query_starts.tolist()
        num_decodes = batch.num_decodes
        parts: list[_Part] = []
        if num_decodes:
            parts.append(
                self._decode_kernel_part(batch)
                or self._decode_part(tables[:num_decodes], contexts[:num_decodes])
            )
        for row in range(num_decodes, len(contexts)):
            chunk = tables[row], starts[row], starts[row + 1], contexts[row]
            parts.append(self._chunk_kernel_part(*chunk) or self._chunk_part(*chunk))

        def attend(layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            self.pool.store(layer, slots, key, value)
            outputs = [part(layer, query) for part in parts]
            return outputs[0] if len(outputs) == 1 else torch.cat(outputs)

        return attend

    def _decode_kernel_part(self, batch: Batch) -> _Part | None:
        """The first ``B`` rows of the batch in C, which reads the blocks where they lie; None without it."""
        functions, num_decodes = decode_functions(self.pool.layers[0]), batch.num_decodes
        if functions is None:
            return None
        tables = torch.from_numpy(batch.block_tables[:num_decodes])
        contexts = torch.from_numpy(batch.context_lens[:num_decodes])

        def part(layer: int, query: Tensor) -> Tensor:
            return paged_decode(functions, query[:num_decodes], self.pool.layers[layer], tables, contexts)

        return part

    def _decode_part(self, tables: Tensor, contexts: list[int]) -> _Part:
        """The first ``B`` rows of the batch, one query each."""
        layout, batch_size, longest = self._layout, len(contexts), max(contexts)
        num_blocks = -(-longest // layout.block_size)
        blocks = tables[:, :num_blocks].flatten()
        mask = None if min(contexts) == longest else self._padding_mask(contexts, longest)

        def part(layer: int, query: Tensor) -> Tensor:
            stored = self.pool.gather(layer, blocks)
            stored = stored.view(batch_size, -1, 2, layout.num_kv_heads, layout.head_dim)[:, :longest]
            key, value = stored.permute(2, 0, 3, 1, 4)
            grouped = query[:batch_size].reshape(
                batch_size, layout.num_kv_heads, self._group, layout.head_dim
            )
            output = scaled_dot_product_attention(grouped, key, value, attn_mask=mask)
            return output.reshape(batch_size, layout.num_heads, layout.head_dim)

        return part

    def _padding_mask(self, contexts: list[int], longest: int) -> Tensor:
        """``[B, 1, 1, longest]``, added to scores: hides what lies beyond a sequence's context."""
        lengths = torch.tensor(contexts)[:, None]
        hidden = torch.arange(longest)[None, :] >= lengths
        return self._additive(hidden)[:, None, None, :]

    def _chunk_kernel_part(self, table: Tensor, start: int, end: int, context: int) -> _Part | None:
        """Rows ``start`` to ``end``, the last positions of one sequence, in C; None without it."""
        functions = chunk_functions(self.pool.layers[0])
        if functions is None:
            return None

        def part(layer: int, query: Tensor) -> Tensor:
            return paged_chunk(functions, query[start:end], self.pool.layers[layer], table, context)

        return part

    def _chunk_part(self, table: Tensor, start: int, end: int, context: int) -> _Part:
        """The same in torch."""
        layout, num_queries = self._layout, end - start
        blocks = table[: -(-context // layout.block_size)]
        mask = self._causal_mask(num_queries, context) if context > num_queries else None

        def part(layer: int, query: Tensor) -> Tensor:
            stored = self.pool.gather(layer, blocks)[:context]
            key, value = stored.permute(1, 2, 0, 3).repeat_interleave(self._group, dim=1)[:, None]
            heads = query[start:end].transpose(0, 1)[None]
            output = scaled_dot_product_attention(heads, key, value, attn_mask=mask, is_causal=mask is None)
            return output[0].transpose(0, 1)

        return part

    def _causal_mask(self, num_queries: int, context: int) -> Tensor:
        """``[num_queries, context]``, added to scores: hides what comes after a query's own position."""
        positions = torch.arange(context - num_queries, context)[:, None]
        return self._additive(torch.arange(context)[None, :] > positions)

    def _additive(self, hidden: Tensor) -> Tensor:
        zeros = torch.zeros(hidden.shape, dtype=self._layout.dtype)
        return zeros.masked_fill_(hidden, float("-inf")).to(self._layout.device)


BACKEND = PagedAttention
