"""The KV pool of the backends that are written in torch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from reference_server.attention import KVLayout


class KVPool:
    """Keys and values of all layers, by block.

    Attributes:
        layers: For each layer ``[num_blocks + 1, block_size, 2, Hkv, D]``, keys before values. Zeros
            at first, so that what a mask hides is finite.
    """

    def __init__(self, layout: KVLayout) -> None:
        shape = (layout.num_blocks + 1, layout.block_size, 2, layout.num_kv_heads, layout.head_dim)
        self.layers = [_zeros(shape, layout) for _ in range(layout.num_layers)]

    def store(self, layer: int, slots: Tensor, key: Tensor, value: Tensor) -> None:
        """Write ``key`` and ``value [T, Hkv, D]`` at ``slots [T]`` (block x block_size + offset)."""
        self.layers[layer].flatten(0, 1).index_copy_(0, slots, torch.stack([key, value], dim=1))

    def gather(self, layer: int, blocks: Tensor) -> Tensor:
        """Tokens of ``blocks [N]`` in order, copied: ``[N x block_size, 2, Hkv, D]``."""
        return self.layers[layer].index_select(0, blocks).flatten(0, 1)


def _zeros(shape: tuple[int, ...], layout: KVLayout) -> Tensor:
    """Zeros; on a CPU from numpy, whose zeros occupy memory when they are first used. Torch fills at once."""
    if layout.device.type != "cpu":
        return torch.zeros(shape, dtype=layout.dtype, device=layout.device)
    num_bytes = math.prod(shape) * layout.dtype.itemsize
    return torch.from_numpy(np.zeros(num_bytes, dtype=np.uint8)).view(layout.dtype).view(shape)
