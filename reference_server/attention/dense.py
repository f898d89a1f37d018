"""``dense``: one sequence after the other, all scores, float32. The specification, not the server's path."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from reference_server.attention import Attend, AttentionBackend, KVLayout
from reference_server.attention._pool import KVPool

if TYPE_CHECKING:
    from reference_server.engine.batch import Batch


class DenseAttention(AttentionBackend):
    """Softmax attention as the textbook writes it."""

    def __init__(self, layout: KVLayout) -> None:
        self._layout = layout
        self._pool = KVPool(layout)

    def plan(self, batch: Batch) -> Attend:
        """Nothing is prepared; each layer looks at the batch again."""
        device = self._layout.device
        slots = torch.from_numpy(batch.slot_mapping).to(device)
        tables = torch.from_numpy(batch.block_tables).long().to(device)

        def attend(layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            self._pool.store(layer, slots, key, value)
            outputs = []
            for row, (start, end) in enumerate(zip(batch.query_starts, batch.query_starts[1:], strict=False)):
                stored = self._pool.gather(layer, tables[row])[: int(batch.context_lens[row])]
                outputs.append(self._attend_one(query[int(start) : int(end)], stored[:, 0], stored[:, 1]))
            return torch.cat(outputs)

        return attend

    def _attend_one(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Let the last positions ``query [Q, H, D]`` attend to ``key`` and ``value [C, Hkv, D]``."""
        group = self._layout.num_heads // self._layout.num_kv_heads
        keys = key.float().repeat_interleave(group, dim=1)
        values = value.float().repeat_interleave(group, dim=1)
        scores = torch.einsum("qhd,chd->hqc", query.float(), keys) * self._layout.head_dim**-0.5
        num_queries, num_keys = query.shape[0], key.shape[0]
        query_positions = torch.arange(num_keys - num_queries, num_keys, device=key.device)
        hidden = torch.arange(num_keys, device=key.device)[None, :] > query_positions[:, None]
        weights = scores.masked_fill(hidden, float("-inf")).softmax(dim=-1)
        return torch.einsum("hqc,chd->qhd", weights, values).to(query.dtype)


BACKEND = DenseAttention
