"""``gguf``: the block-quantized weights of a GGUF file.

In bfloat16 on a CPU, layers whose blocks :mod:`~reference_server.kernels.packed_blocks` can pack keep them
and compute on them in C. All others, and all in float32 or on a GPU, are made dense when the model is built.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from reference_server.kernels.arena import Arena
from reference_server.kernels.block_linear import BlockLinear
from reference_server.kernels.library import kernel_library
from reference_server.kernels.packed_blocks import BLOCK, PACKABLE, PackedBlocks, pack_blocks
from reference_server.models.linear import can_prepack
from reference_server.quantization import UnsupportedQuantizationError
from reference_server.quantization.none import DenseScheme

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reference_server.models.checkpoint import Checkpoint, StoredTensor

_MAX_FEW_ROWS = 32  # above, the packed bfloat16 product is faster without a matrix unit: kernels/DESIGN.md


class GGUFScheme:
    """Layers from GGUF tensors."""

    def __init__(self) -> None:
        self._dense = DenseScheme()
        self._arena = Arena()

    def check(self, checkpoint: Checkpoint) -> None:
        """Only a GGUF file has them."""
        if checkpoint.quantization != "gguf":
            raise UnsupportedQuantizationError(
                "quantization 'gguf' needs a .gguf file; leave it out or say 'none' for this model"
            )

    def linear(
        self, weights: list[StoredTensor], bias: Tensor | None, *, dtype: torch.dtype, device: torch.device
    ) -> nn.Module:
        """Pack the blocks if they can be computed on, else read and join the weights."""
        dense = functools.partial(self._dense.linear, weights, bias, dtype=dtype, device=device)
        functions = kernel_library().functions if device.type == "cpu" and dtype is torch.bfloat16 else None
        blocks = None if functions is None else _joined_blocks(weights)
        if functions is None or blocks is None:
            return dense()
        packed = pack_blocks(blocks, weights[0].stored_type)
        placed = PackedBlocks(self._arena.place(packed.data), packed.form, packed.shape)
        needs_dense = can_prepack() and not functions.has_matrix_unit()
        return HybridLinear(BlockLinear(functions, placed, bias), dense() if needs_dense else None)


class HybridLinear(nn.Module):
    """Computes few rows on packed blocks and many on dense weights, which it holds besides if it has to.

    A row of few is quantized and of many is not: it differs by rounding with the number of rows, and
    by nothing else of its neighbours.
    """

    def __init__(self, few: BlockLinear, many: nn.Module | None) -> None:
        super().__init__()
        self.register_buffer("blocks", few.packed.data)
        self.few, self.many = few, many

    def forward(self, x: Tensor) -> Tensor:
        """``[T, in] -> [T, out]``."""
        if self.many is not None and x.shape[0] > _MAX_FEW_ROWS:
            return self.many(x)  # type: ignore[no-any-return]  # nn.Module
        return self.few(x)


def _joined_blocks(weights: Sequence[StoredTensor]) -> Tensor | None:
    """The blocks of all matrices, by rows; None if their types differ or can't be packed."""
    types = {weight.stored_type for weight in weights}
    readers = [weight.read_blocks for weight in weights if weight.read_blocks is not None]
    if len(types) > 1 or not types <= PACKABLE or len(readers) < len(weights):
        return None
    if weights[0].shape[1] % BLOCK:
        return None
    return torch.cat([read() for read in readers])


SCHEME = GGUFScheme
