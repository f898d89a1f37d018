"""The shape of a model, whatever file it was read from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Shape of a decoder-only model.

    Attributes:
        architecture: As GGUF names it: ``llama``, ``qwen2``, ``qwen3``.
        vocab_size: Number of token ids, rows of the embedding.
        hidden_size: Width of the residual stream.
        intermediate_size: Width of the gated feed-forward layer.
        num_layers: Decoder layers.
        num_heads: Query heads.
        num_kv_heads: Key and value heads; divides ``num_heads``.
        head_dim: Width of a head; even.
        rms_norm_eps: Added to the mean square.
        rope_theta: Base of the rotary wavelengths.
        rope_factors: Divisors of the ``head_dim / 2`` rotary frequencies, for scaled contexts; None: all 1.
        max_model_len: Positions the model was made for.
        eos_token_ids: Tokens that end an answer.
        tie_word_embeddings: The output head is the embedding.
    """

    architecture: str
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    rms_norm_eps: float
    rope_theta: float
    max_model_len: int
    eos_token_ids: tuple[int, ...]
    tie_word_embeddings: bool
    rope_factors: tuple[float, ...] | None = None
