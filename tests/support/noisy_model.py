"""A folder with the weights of ``tiny-random`` and some noise: a draft model that is often right."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import torch
from safetensors.torch import save_file

from reference_server.models.loaders import tiny_random

if TYPE_CHECKING:
    from pathlib import Path


def write_noisy_model(
    folder: Path, noise: float, *, vocab_size: int | None = None, max_model_len: int | None = None
) -> Path:
    """Write it, without a tokenizer; the folder.

    Args:
        folder: Where.
        noise: Standard deviation of what is added to matrices, as a share of their own.
        vocab_size: Another number of token ids than ``tiny-random`` has.
        max_model_len: Another number of positions.
    """
    shape = tiny_random.CONFIG
    generator = torch.Generator().manual_seed(5)
    tensors = {name: stored.read() for name, stored in tiny_random.load("tiny-random", 0).tensors.items()}
    for tensor in tensors.values():
        if tensor.dim() > 1:
            tensor += torch.randn(tensor.shape, generator=generator) * tensor.std() * noise
    if vocab_size is not None:
        for name in ("model.embed_tokens.weight", "lm_head.weight", "lm_head.bias"):
            tensors[name] = tensors[name][:vocab_size].clone()
    settings = {
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": vocab_size or shape.vocab_size,
        "hidden_size": shape.hidden_size,
        "intermediate_size": shape.intermediate_size,
        "num_hidden_layers": shape.num_layers,
        "num_attention_heads": shape.num_heads,
        "num_key_value_heads": shape.num_kv_heads,
        "head_dim": shape.head_dim,
        "rms_norm_eps": shape.rms_norm_eps,
        "rope_theta": shape.rope_theta,
        "max_position_embeddings": max_model_len or shape.max_model_len,
        "eos_token_id": list(shape.eos_token_ids),
    }
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(settings))
    return folder
