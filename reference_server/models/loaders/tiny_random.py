"""``tiny-random``: a few hundred thousand seeded weights that answer nonsense at once, for tests.

The vocabulary is bytes: 0 begins a text, 1 ends it, 2 to 257 are the bytes 0 to 255, the rest is never text.
A bias on the head keeps the answers to printable ASCII, so that every token shows, and ends some of them.
"""

from __future__ import annotations

import functools
import math

import torch

from reference_server.models.checkpoint import Checkpoint, StoredTensor
from reference_server.models.config import ModelConfig

CONFIG = ModelConfig(
    architecture="llama",
    vocab_size=512,
    hidden_size=64,
    intermediate_size=192,
    num_layers=4,
    num_heads=4,
    num_kv_heads=2,
    head_dim=16,
    rms_norm_eps=1e-5,
    rope_theta=10000.0,
    max_model_len=4096,
    eos_token_ids=(1,),
    tie_word_embeddings=False,
)

_FIRST_BYTE = 2


def accepts(model: str) -> bool:
    """Only its own name."""
    return model == "tiny-random"


def load(model: str, seed: int) -> Checkpoint:  # noqa: ARG001  # the contract of a loader
    """Draw the weights; the same seed gives the same weights, whatever is read first."""
    shapes = _shapes()
    tensors = {
        name: StoredTensor(shape, "F32", functools.partial(_draw, shape, seed * 1009 + index))
        for index, (name, shape) in enumerate(shapes.items())
    }
    tensors["lm_head.bias"] = StoredTensor((CONFIG.vocab_size,), "F32", _head_bias)
    return Checkpoint(CONFIG, tensors, quantization="none")


def _shapes() -> dict[str, tuple[int, ...]]:
    hidden, inner = CONFIG.hidden_size, CONFIG.intermediate_size
    query, kv = CONFIG.num_heads * CONFIG.head_dim, CONFIG.num_kv_heads * CONFIG.head_dim
    shapes: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (CONFIG.vocab_size, hidden),
        "model.norm.weight": (hidden,),
        "lm_head.weight": (CONFIG.vocab_size, hidden),
    }
    layer: dict[str, tuple[int, ...]] = {
        "input_layernorm.weight": (hidden,),
        "self_attn.q_proj.weight": (query, hidden),
        "self_attn.k_proj.weight": (kv, hidden),
        "self_attn.v_proj.weight": (kv, hidden),
        "self_attn.o_proj.weight": (hidden, query),
        "post_attention_layernorm.weight": (hidden,),
        "mlp.gate_proj.weight": (inner, hidden),
        "mlp.up_proj.weight": (inner, hidden),
        "mlp.down_proj.weight": (hidden, inner),
    }
    for index in range(CONFIG.num_layers):
        shapes |= {f"model.layers.{index}.{name}": shape for name, shape in layer.items()}
    return shapes


def _draw(shape: tuple[int, ...], seed: int) -> torch.Tensor:
    """Norms are 1; matrices keep the scale of their input, so that attention and logits have some life."""
    if len(shape) == 1:
        return torch.ones(shape)
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator).mul_(2.0 / math.sqrt(shape[1]))


def _head_bias() -> torch.Tensor:
    bias: torch.Tensor = torch.full((CONFIG.vocab_size,), -1000.0)
    bias[_FIRST_BYTE + ord(" ") : _FIRST_BYTE + ord("~") + 1] = 0.0
    bias[list(CONFIG.eos_token_ids)] = -3.0
    return bias
