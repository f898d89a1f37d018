"""A model with random weights, drawn on the device: the same for our engine and for transformers."""

from __future__ import annotations

import functools
import math
from typing import Any

import torch

from reference_server.engine.config import EngineConfig
from reference_server.engine.engine import Engine
from reference_server.engine.loading import assemble_model
from reference_server.engine.request import EngineRequest, SamplingParams
from reference_server.models.checkpoint import Checkpoint, StoredTensor
from reference_server.models.config import ModelConfig

DEVICE, DTYPE = "cuda", torch.bfloat16


def shape(quick: bool) -> ModelConfig:
    """SmolLM2-1.7B's, or 135M's for a quick run."""
    sizes = (576, 1536, 30, 9, 3) if quick else (2048, 8192, 24, 32, 32)
    hidden, inner, layers, heads, kv_heads = sizes
    return ModelConfig(
        architecture="llama",
        vocab_size=49152,
        hidden_size=hidden,
        intermediate_size=inner,
        num_layers=layers,
        num_heads=heads,
        num_kv_heads=kv_heads,
        head_dim=64,
        rms_norm_eps=1e-5,
        rope_theta=130000.0,
        max_model_len=8192,
        eos_token_ids=(0,),
        tie_word_embeddings=True,
    )


@functools.cache
def weights(config: ModelConfig) -> dict[str, torch.Tensor]:
    """By Hugging Face name, in bfloat16 on the device; small enough that nothing overflows."""
    hidden, inner, width = config.hidden_size, config.intermediate_size, config.num_heads * config.head_dim
    kv_width = config.num_kv_heads * config.head_dim
    shapes: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (config.vocab_size, hidden),
        "model.norm.weight": (hidden,),
    }
    for index in range(config.num_layers):
        layer = {
            "input_layernorm": (hidden,),
            "self_attn.q_proj": (width, hidden),
            "self_attn.k_proj": (kv_width, hidden),
            "self_attn.v_proj": (kv_width, hidden),
            "self_attn.o_proj": (hidden, width),
            "post_attention_layernorm": (hidden,),
            "mlp.gate_proj": (inner, hidden),
            "mlp.up_proj": (inner, hidden),
            "mlp.down_proj": (hidden, inner),
        }
        shapes |= {f"model.layers.{index}.{name}.weight": size for name, size in layer.items()}
    generator = torch.Generator(DEVICE).manual_seed(0)
    return {name: draw(size, generator) for name, size in shapes.items()}


def draw(size: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """Ones for norms; matrices keep the scale of their input."""
    if len(size) == 1:
        return torch.ones(size, dtype=DTYPE, device=DEVICE)
    drawn = torch.randn(size, generator=generator, device=DEVICE, dtype=torch.float32)
    return (drawn / math.sqrt(size[1])).to(DTYPE)


def num_weight_bytes(config: ModelConfig) -> int:
    """What a step of decoding reads of the weights: all of them, the tied embedding as head."""
    return sum(tensor.numel() * tensor.element_size() for tensor in weights(config).values())


def make_engine(config: ModelConfig, **settings: object) -> Engine:
    """Our engine on these weights."""
    tensors = {
        name: StoredTensor(tuple(tensor.shape), "BF16", functools.partial(_same, tensor))
        for name, tensor in weights(config).items()
    }
    checkpoint = Checkpoint(config, tensors, quantization="none")
    defaults: dict[str, Any] = {"device": DEVICE, "dtype": "bfloat16", "max_model_len": 4096}
    wanted = EngineConfig(model="random", **(defaults | settings))
    return Engine(wanted, assemble_model(wanted, checkpoint))


def request(number: int, prompt_len: int, max_tokens: int, vocab_size: int) -> EngineRequest:
    """A greedy one of exact length; no two prompts begin alike."""
    prompt = [(number * 7919 + place * 31) % (vocab_size - 2) + 2 for place in range(prompt_len)]
    sampling = SamplingParams(max_tokens=max_tokens, seed=0, temperature=0.0, ignore_eos=True)
    return EngineRequest(request_id=str(number), prompt_token_ids=prompt, sampling=sampling)


def _same(tensor: torch.Tensor) -> torch.Tensor:
    return tensor
