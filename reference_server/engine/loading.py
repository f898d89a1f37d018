"""From settings to the parts of an engine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from reference_server.attention import attention_backend
from reference_server.engine.activation_size import activation_bytes
from reference_server.engine.device import (
    device_notes,
    resolve_attention_backend,
    resolve_device,
    resolve_dtype,
    set_threads,
)
from reference_server.engine.errors import EngineConfigError
from reference_server.engine.kv_size import kv_layout, resolve_block_size, resolve_num_blocks
from reference_server.engine.make_runner import make_runner
from reference_server.engine.modes import resolve_modes
from reference_server.engine.request import EngineInfo
from reference_server.models.build import build_model
from reference_server.models.loaders import load_checkpoint
from reference_server.models.weight_bytes import weight_bytes
from reference_server.quantization import quantization_scheme
from reference_server.speculative import Target, speculative_config

if TYPE_CHECKING:
    import torch

    from reference_server.attention import KVLayout
    from reference_server.engine.config import EngineConfig
    from reference_server.engine.make_runner import Runner
    from reference_server.models.checkpoint import Checkpoint
    from reference_server.speculative import Preparation, Proposer, SpeculativeConfig

_LIMITS = (
    "block_size",
    "max_model_len",
    "max_num_seqs",
    "max_num_batched_tokens",
    "num_gpu_blocks_override",
    "cpu_threads",
)


@dataclass(frozen=True, kw_only=True)
class LoadedModel:
    """What an engine needs of a model."""

    runner: Runner
    info: EngineInfo
    speculation: SpeculativeConfig | None = None
    proposer: Proposer | None = None


def load_model(config: EngineConfig) -> LoadedModel:
    """Read the checkpoint, build the model, size and allocate the KV pool.

    Raises:
        EngineConfigError: A setting can't be met.
        ModelError: The model can't be loaded.
        UnsupportedQuantizationError, UnsupportedBackendError, SpeculativeConfigError: A name is not built.
    """
    return assemble_model(config, load_checkpoint(config.model, config.seed))


def assemble_model(config: EngineConfig, checkpoint: Checkpoint) -> LoadedModel:
    """As :func:`load_model`, from a checkpoint that is open already."""
    _check_limits(config)
    config, mode_notes = resolve_modes(config)
    speculation = None if (asked := config.speculative_config) is None else speculative_config(asked)
    model_len = checkpoint.config.max_model_len
    _check_model_len(config, model_len)
    device = resolve_device(config)
    set_threads(config, device)
    dtype = resolve_dtype(config, device)
    backend = attention_backend(resolve_attention_backend(config, device))
    scheme = quantization_scheme(config.quantization or checkpoint.quantization)
    scheme.check(checkpoint)
    model = build_model(
        checkpoint, scheme, dtype=dtype, device=device, max_len=config.max_model_len or model_len
    )
    guessing = None
    if speculation is not None:
        guessing = speculation.prepare(_target(config, checkpoint, dtype, device))
    layout = _layout(config, checkpoint, dtype, device, beside=guessing.block_bytes if guessing else 0)
    max_len, notes = _max_len(config, layout, model_len)
    notes += _memory_notes(guessing, layout.num_blocks)
    info = EngineInfo(
        max_model_len=max_len,
        vocab_size=checkpoint.config.vocab_size,
        eos_token_ids=checkpoint.config.eos_token_ids,
        num_blocks=layout.num_blocks,
        block_size=layout.block_size,
        dtype=str(dtype).removeprefix("torch."),
        device=device.type,
        num_parameters=sum(tensor.numel for tensor in checkpoint.tensors.values()),
        weight_bytes=weight_bytes(model),
        enable_prefix_caching=config.enable_prefix_caching,
        scheduling_policy=config.scheduling_policy,
        batching=config.batching,
        kv_allocation=config.kv_allocation,
        kv_cache=config.kv_cache,
        speculation=None if speculation is None else speculation.describe(),
        num_speculative_tokens=0 if speculation is None else speculation.num_speculative_tokens,
        notes=(*mode_notes, *device_notes(config, device, dtype), *notes),
    )
    runner = make_runner(
        config, model, backend(layout), device, max_len=max_len, block_size=layout.block_size
    )
    proposer = None if guessing is None else guessing.make_proposer(layout.num_blocks)
    return LoadedModel(runner=runner, info=info, speculation=speculation, proposer=proposer)


def _memory_notes(guessing: Preparation | None, num_blocks: int) -> list[str]:
    """What drafts take of memory, if it is worth a word."""
    describe = None if guessing is None else guessing.describe_memory
    return [] if describe is None else [describe(num_blocks)]


def _check_limits(config: EngineConfig) -> None:
    """Refuse limits below 1, with which no step could compute anything."""
    for name in _LIMITS:
        value = getattr(config, name)
        if value is not None and value < 1:
            raise EngineConfigError(f"{name} is {value}; it must be at least 1")
    if (config.long_prefill_token_threshold or 0) < 0:
        raise EngineConfigError(
            f"long_prefill_token_threshold is {config.long_prefill_token_threshold}; 0 means no limit"
        )
    if config.long_prefill_token_threshold and not config.enable_chunked_prefill:
        raise EngineConfigError(
            "long_prefill_token_threshold makes chunks of prompts; leave it out or enable_chunked_prefill"
        )


def _check_model_len(config: EngineConfig, model_len: int) -> None:
    """Refuse more positions than the model has, before anything is made for so many."""
    asked = config.max_model_len
    if asked is not None and asked > model_len:
        raise EngineConfigError(
            f"max_model_len is {asked}, but the model was made for {model_len} positions; lower it"
        )


def _target(config: EngineConfig, checkpoint: Checkpoint, dtype: torch.dtype, device: torch.device) -> Target:
    """What a method of speculative decoding may need to know."""
    return Target(
        config=config,
        vocab_size=checkpoint.config.vocab_size,
        eos_token_ids=checkpoint.config.eos_token_ids,
        max_model_len=config.max_model_len or checkpoint.config.max_model_len,
        block_size=resolve_block_size(config, device),
        dtype=str(dtype).removeprefix("torch."),
        device=device.type,
    )


def _layout(
    config: EngineConfig, checkpoint: Checkpoint, dtype: torch.dtype, device: torch.device, *, beside: int
) -> KVLayout:
    """The KV pool that fits this machine, where each block takes so many bytes ``beside`` its own."""
    shape = checkpoint.config
    block_size = resolve_block_size(config, device)
    layout = partial(kv_layout, shape, block_size=block_size, dtype=dtype, device=device)
    blocks_per_sequence = -(-(config.max_model_len or shape.max_model_len) // block_size)
    max_blocks = blocks_per_sequence * config.max_num_seqs
    reserve = activation_bytes(config, shape, dtype) if device.type == "cuda" else 0
    block_bytes = layout(num_blocks=1).block_bytes + beside
    return layout(num_blocks=resolve_num_blocks(config, device, block_bytes, max_blocks, reserve))


def _max_len(config: EngineConfig, layout: KVLayout, model_len: int) -> tuple[int, list[str]]:
    """The longest sequence, with a note if memory decides it.

    Raises:
        EngineConfigError: More was asked for than the pool has.
    """
    capacity = layout.num_blocks * layout.block_size
    asked = config.max_model_len
    if asked is not None and asked > capacity:
        raise EngineConfigError(
            f"max_model_len is {asked}, but the KV pool holds {capacity} tokens; lower it or give memory"
        )
    if asked is None and capacity < model_len:
        return capacity, [f"the KV pool holds {capacity} tokens, so max_model_len is that, not {model_len}"]
    return asked or model_len, []
