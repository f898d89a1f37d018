"""How a KV pool is laid out, and how many blocks there are room for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from reference_server.attention import KVLayout
from reference_server.engine.errors import EngineConfigError
from reference_server.engine.free_memory import free_memory_bytes

if TYPE_CHECKING:
    from reference_server.engine.config import EngineConfig
    from reference_server.models.config import ModelConfig

_GIB = 1 << 30
_DEFAULT_CPU_BYTES = _GIB
_CPU_SHARE = 0.25
"""At most this share of the free memory, unless the user says otherwise."""

_DEFAULT_UTILIZATION = 0.9
_DEFAULT_BLOCK_SIZE = {"cpu": 32, "cuda": 16}


def resolve_block_size(config: EngineConfig, device: torch.device) -> int:
    """Tokens a block holds."""
    return config.block_size or _DEFAULT_BLOCK_SIZE[device.type]


def kv_layout(
    shape: ModelConfig, *, block_size: int, num_blocks: int, dtype: torch.dtype, device: torch.device
) -> KVLayout:
    """Of a pool for a model of this shape."""
    return KVLayout(
        num_layers=shape.num_layers,
        num_heads=shape.num_heads,
        num_kv_heads=shape.num_kv_heads,
        head_dim=shape.head_dim,
        block_size=block_size,
        num_blocks=num_blocks,
        dtype=dtype,
        device=device,
    )


def resolve_num_blocks(
    config: EngineConfig, device: torch.device, block_bytes: int, max_blocks: int, reserve: int = 0
) -> int:
    """Blocks of the pool, by memory.

    At most ``max_blocks``, which all sequences at full length would fill; but a size that was asked for is
    given whole, because what sequences don't need is prefix cache. ``reserve`` bytes are left for what a step
    computes.

    Raises:
        EngineConfigError: Not even one block fits.
    """
    if config.num_gpu_blocks_override is not None:
        return config.num_gpu_blocks_override
    num_blocks = (_pool_bytes(config, device) - reserve) // block_bytes
    if not (config.enable_prefix_caching and _was_asked_for(config, device)):
        num_blocks = min(num_blocks, max_blocks)
    if num_blocks < 1:
        raise EngineConfigError(
            "no memory is left for KV blocks; raise "
            + ("cpu_kvcache_space" if device.type == "cpu" else "gpu_memory_utilization")
        )
    return num_blocks


def _was_asked_for(config: EngineConfig, device: torch.device) -> bool:
    size = config.cpu_kvcache_space if device.type == "cpu" else config.gpu_memory_utilization
    return size is not None


def _pool_bytes(config: EngineConfig, device: torch.device) -> int:
    if device.type == "cuda":
        torch.cuda.empty_cache()  # what loading used is free memory again
        free, total = torch.cuda.mem_get_info(device)
        return int(free - total * (1 - (config.gpu_memory_utilization or _DEFAULT_UTILIZATION)))
    if config.cpu_kvcache_space is not None:
        return int(config.cpu_kvcache_space * _GIB)
    return min(_DEFAULT_CPU_BYTES, int(free_memory_bytes() * _CPU_SHARE))
