"""How much of a GPU's memory a step needs beside weights and KV pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from reference_server.engine.config import EngineConfig
    from reference_server.models.config import ModelConfig

_SLACK = 2  # for what is alive at the same time, and what an allocator rounds up
_SAMPLING_BYTES = 64  # of a logit: as computed, in float32, edited, sorted with its id, as a running sum


def activation_bytes(config: EngineConfig, shape: ModelConfig, dtype: torch.dtype) -> int:
    """An upper estimate, from the most tokens and sequences of a step; a whole prompt may exceed it."""
    heads = (shape.num_heads + 2 * shape.num_kv_heads) * shape.head_dim
    per_token = 4 * shape.hidden_size + 2 * heads + 3 * shape.intermediate_size
    hidden = max(config.max_num_batched_tokens, config.max_num_seqs) * per_token * dtype.itemsize
    return _SLACK * hidden + num_sampling_rows(config) * shape.vocab_size * _SAMPLING_BYTES


def num_sampling_rows(config: EngineConfig) -> int:
    """Rows of logits of a step at most: one of each sequence, and one of each drafted token."""
    num_drafted = int((config.speculative_config or {}).get("num_speculative_tokens", 0))
    return min(
        config.max_num_seqs * (1 + num_drafted), max(config.max_num_batched_tokens, config.max_num_seqs)
    )
