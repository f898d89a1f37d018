"""``gguf``: the block-quantized weights of a GGUF file.

In bfloat16 on a CPU, layers whose blocks :mod:`~reference_server.kernels.packed_blocks` can pack keep them
and compute on them in C. All others, and all in float32 or on a GPU, are made dense when the model is built.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from reference_server.kernels.arena import Arena
from reference_server.kernels.library import kernel_library
from reference_server.kernels.packed_blocks import BLOCK, PACKABLE, pack_blocks
from reference_server.quantization import UnsupportedQuantizationError
from reference_server.quantization._hybrid import hybrid_linear
from reference_server.quantization.none import DenseScheme, joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn

    from reference_server.models.checkpoint import Checkpoint, StoredTensor


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
        functions = kernel_library().functions if device.type == "cpu" and dtype is torch.bfloat16 else None
        blocks = None if functions is None else _joined_blocks(weights)
        if functions is None or blocks is None:
            return self._dense.linear(weights, bias, dtype=dtype, device=device)
        packed = pack_blocks(blocks, weights[0].stored_type).placed_in(self._arena)
        return hybrid_linear(functions, packed, bias, lambda: joined(weights, dtype, device))


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
