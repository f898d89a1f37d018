"""Linear layers on weights in 8 bits with a scale for each output; rows of ``x`` have 16 bits and one scale.

What calls it is :class:`~reference_server.kernels.block_linear.BlockLinear`, for weights of this form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from reference_server.kernels.library import INT, POINTER, SIZE
from reference_server.kernels.packed_blocks import PackedBlocks, pack_channels, unpack_blocks

if TYPE_CHECKING:
    import ctypes

ARGUMENTS = (POINTER, POINTER, POINTER, POINTER, SIZE, SIZE, SIZE, INT, INT, INT, INT, INT)
_LARGEST = 127 * 256 + 127
_TOLERANCE = 1e-4


def channel_linear_twin(x: Tensor, packed: PackedBlocks, bias: Tensor | None) -> Tensor:
    """``x [T, in] -> [T, out]``, float32, in torch."""
    product = quantize_whole_rows(x) @ unpack_blocks(packed).T
    return product if bias is None else product + bias


def quantize_whole_rows(x: Tensor) -> Tensor:
    """``x [T, in]`` with each row rounded to multiples of its largest magnitude / 32,639."""
    largest = x.abs().amax(dim=1, keepdim=True)
    inverse = torch.where(largest > 0, _LARGEST / largest, 0)
    return (x * inverse).round() * (largest / _LARGEST)


def agrees(functions: ctypes.CDLL) -> bool:
    """Whether C and torch agree on one small matrix, in lanes and by the matrix unit."""
    generator = torch.Generator().manual_seed(0)
    x, bias = torch.randn(21, 72, generator=generator), torch.randn(20, generator=generator)
    values = torch.randint(-128, 128, (20, 72), generator=generator, dtype=torch.int8)
    packed = pack_channels(values, torch.rand(20, 1, generator=generator))
    expected = channel_linear_twin(x, packed, bias)
    for allow_unit in (False, True):
        found = torch.empty(21, 20)
        failed = functions.channel_linear(
            x.data_ptr(), packed.data.data_ptr(), bias.data_ptr(), found.data_ptr(), 21, 72, 20, False, False,
            allow_unit, 0, 1,
        )  # fmt: skip
        if failed or not bool((found - expected).norm() <= _TOLERANCE * expected.norm()):
            return False
    return True
