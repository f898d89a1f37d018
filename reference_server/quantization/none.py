"""``none``: dense weights in the precision of computation, whatever the file holds.

In bfloat16 on a CPU they are multiplied in C, all else by torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from reference_server.kernels.arena import Arena
from reference_server.kernels.library import kernel_library
from reference_server.kernels.packed_blocks import BLOCK, pack_dense
from reference_server.models.linear import dense_linear
from reference_server.quantization._hybrid import hybrid_linear

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn

    from reference_server.models.checkpoint import Checkpoint, StoredTensor


class DenseScheme:
    """Dense layers."""

    def __init__(self) -> None:
        self._arena = Arena()

    def check(self, checkpoint: Checkpoint) -> None:
        """Every checkpoint can be made dense."""

    def linear(
        self, weights: list[StoredTensor], bias: Tensor | None, *, dtype: torch.dtype, device: torch.device
    ) -> nn.Module:
        """Read and join the weights."""
        dense = joined(weights, dtype, device)
        functions = kernel_library().functions if device.type == "cpu" and dtype is torch.bfloat16 else None
        if functions is None or dense.shape[1] % BLOCK:
            return dense_linear(dense, bias)
        packed = pack_dense(dense).placed_in(self._arena)
        return hybrid_linear(functions, packed, bias, lambda: dense)


def joined(weights: Sequence[StoredTensor], dtype: torch.dtype, device: torch.device) -> Tensor:
    """Matrices ``[out_i, in]`` as one."""
    return torch.cat([weight.read().to(device, dtype) for weight in weights])


SCHEME = DenseScheme
