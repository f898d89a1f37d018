"""The Llama family: Llama, Qwen2 (biases on query, key, value), Qwen3 (normalized queries and keys)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from reference_server.attention import RotatingAttend
from reference_server.kernels.rms_norm import rms_norm
from reference_server.kernels.rope import rope
from reference_server.kernels.silu_mul import silu_mul

if TYPE_CHECKING:
    from reference_server.models.config import ModelConfig

ARCHITECTURES = ("llama", "qwen2", "qwen3")

Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""``attend(layer, query [T, H, D], key [T, Hkv, D], value [T, Hkv, D]) -> [T, H, D]``."""


class RMSNorm(nn.Module):
    """Scale each row to mean square 1, then by a weight."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size), requires_grad=False)
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """Normalize the last dimension of ``x``."""
        return rms_norm(x, None, self.weight, self.eps)

    def add(self, residual: Tensor, delta: Tensor) -> Tensor:
        """Add ``delta`` to ``residual`` in place, and normalize that."""
        return rms_norm(residual, delta, self.weight, self.eps)


class Attention(nn.Module):
    """Self-attention with grouped key and value heads."""

    def __init__(self, config: ModelConfig, layer: int) -> None:
        super().__init__()
        self.layer = layer
        self.heads = (config.num_heads, config.num_kv_heads, config.head_dim)
        num_rows = (config.num_heads + 2 * config.num_kv_heads) * config.head_dim
        self.qkv_proj = nn.Linear(config.hidden_size, num_rows)
        self.o_proj = nn.Linear(config.num_heads * config.head_dim, config.hidden_size)
        self.has_qk_norm = config.architecture == "qwen3"
        if self.has_qk_norm:
            self.q_norm = RMSNorm(config.head_dim, config.rms_norm_eps)
            self.k_norm = RMSNorm(config.head_dim, config.rms_norm_eps)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, attend: Attend) -> Tensor:
        """Attend from each row of ``x [T, hidden]`` to its sequence so far."""
        num_heads, num_kv_heads, head_dim = self.heads
        qkv = self.qkv_proj(x).view(x.shape[0], num_heads + 2 * num_kv_heads, head_dim)
        if self.has_qk_norm:
            query, key, value = qkv.split((num_heads, num_kv_heads, num_kv_heads), dim=1)
            qkv = torch.cat([self.q_norm(query), self.k_norm(key), value], dim=1)
        if isinstance(attend, RotatingAttend):
            output = attend.rotate_and_attend(self.layer, qkv, cos, sin)
        else:
            rope(qkv, num_heads + num_kv_heads, cos, sin)
            output = attend(self.layer, *qkv.split((num_heads, num_kv_heads, num_kv_heads), dim=1))
        return self.o_proj(output.reshape(x.shape[0], num_heads * head_dim))  # type: ignore[no-any-return]  # nn.Module


class MLP(nn.Module):
    """Gated feed-forward layer with SiLU."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.gate_up_proj = nn.Linear(config.hidden_size, 2 * config.intermediate_size)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size)

    def forward(self, x: Tensor) -> Tensor:
        """Transform each row of ``x [T, hidden]``."""
        return self.down_proj(silu_mul(self.gate_up_proj(x)))  # type: ignore[no-any-return]  # nn.Module returns Any


class DecoderLayer(nn.Module):
    """Attention and feed-forward, each normalized before and added to the residual stream."""

    def __init__(self, config: ModelConfig, layer: int) -> None:
        super().__init__()
        self.input_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.self_attn = Attention(config, layer)
        self.post_attention_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.mlp = MLP(config)

    def forward(
        self, residual: Tensor, delta: Tensor | None, cos: Tensor, sin: Tensor, attend: Attend
    ) -> Tensor:
        """Add the layer before's ``delta`` to ``residual [T, hidden]`` in place; the delta of this one."""
        if delta is None:
            normed = self.input_layernorm(residual)
        else:
            normed = self.input_layernorm.add(residual, delta)
        delta = self.self_attn(normed, cos, sin, attend)
        return self.mlp(self.post_attention_layernorm.add(residual, delta))  # type: ignore[no-any-return]  # nn.Module


class Decoder(nn.Module):
    """Embedding, layers and the last norm: what checkpoints call ``model``."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(DecoderLayer(config, layer) for layer in range(config.num_layers))
        self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps)


class Llama(nn.Module):
    """The whole model. ``rope`` is the table of :func:`~reference_server.models.rope.rope_table`."""

    FUSED: ClassVar[dict[str, tuple[str, ...]]] = {
        "qkv_proj": ("q_proj", "k_proj", "v_proj"),
        "gate_up_proj": ("gate_proj", "up_proj"),
    }

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.model = Decoder(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.rope = torch.empty(0)

    def forward(self, token_ids: Tensor, positions: Tensor, attend: Attend) -> Tensor:
        """Hidden states ``[T, hidden]`` before the last norm, for ``token_ids [T]`` at ``positions [T]``."""
        cos, sin = self.rope[positions].unbind(dim=1)
        residual: Tensor = self.model.embed_tokens(token_ids)
        delta: Tensor | None = None
        for layer in self.model.layers:
            delta = layer(residual, delta, cos, sin, attend)
        return residual if delta is None else residual + delta

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores of the next token, ``[R, vocab_size]``, for rows of ``forward``'s result."""
        return self.lm_head(self.model.norm(hidden))  # type: ignore[no-any-return]  # nn.Module returns Any


MODEL = Llama
