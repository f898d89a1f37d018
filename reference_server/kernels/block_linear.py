"""Linear layers on packed blocks.

On quantized blocks rows of ``x`` are quantized to 8 bits as llama.cpp's ``Q8_1`` does; where the CPU has a
matrix unit, many rows are multiplied as they are, with the weights in bfloat16.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from reference_server.kernels.channel_linear import channel_linear_twin
from reference_server.kernels.library import INT, POINTER, SIZE
from reference_server.kernels.packed_blocks import (
    BLOCK,
    Form,
    PackedBlocks,
    pack_blocks,
    pack_dense,
    unpack_blocks,
)

if TYPE_CHECKING:
    import ctypes

ARGUMENTS = (POINTER, POINTER, POINTER, POINTER, SIZE, SIZE, SIZE, INT, INT, INT, INT, INT)
_DTYPES = (torch.bfloat16, torch.float32)
_TOLERANCE = 1e-4
_BFLOAT16_TOLERANCE = 5e-3
_MANY_ROWS = 37


class BlockLinear:
    """``x [T, in] -> [T, out]`` in C, of bfloat16, or on quantized blocks of float32.

    Args:
        functions: The loaded kernels.
        packed: The weights.
        bias: ``[out]`` or None.
        use_matrix_unit: Let it multiply many rows in bfloat16 where there is one.
    """

    def __init__(
        self,
        functions: ctypes.CDLL,
        packed: PackedBlocks,
        bias: Tensor | None = None,
        *,
        use_matrix_unit: bool = True,
    ) -> None:
        self._function = functions.block_linear
        self.packed, self.bias = packed, None if bias is None else bias.float().contiguous()
        self._weight_address = packed.data.data_ptr()
        self._bias_address = None if self.bias is None else self.bias.data_ptr()
        self._num_outputs, self._num_inputs = packed.shape
        self._dtypes = _DTYPES[:1] if packed.form is Form.PAIRS else _DTYPES
        self._form, self._use_matrix_unit = int(packed.form), use_matrix_unit

    def __call__(self, x: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """Multiply rows; the result is of ``dtype``, bfloat16 or float32, by default that of ``x``."""
        num_rows, num_inputs = x.shape
        if num_inputs != self._num_inputs or x.dtype not in self._dtypes:
            raise ValueError(f"x is {x.dtype} with {num_inputs} columns; the weights have {self._num_inputs}")
        x = x.contiguous()
        output = torch.empty(num_rows, self._num_outputs, dtype=dtype or x.dtype)
        failed = self._function(
            x.data_ptr(), self._weight_address, self._bias_address, output.data_ptr(), num_rows, num_inputs,
            self._num_outputs, self._form, x.dtype is torch.bfloat16, output.dtype is torch.bfloat16,
            self._use_matrix_unit, torch.get_num_threads(),
        )  # fmt: skip
        if failed:
            raise MemoryError(f"no memory to multiply {num_rows} rows of {num_inputs}")
        return output


def matrix_unit_twin(x: Tensor, packed: PackedBlocks, bias: Tensor | None) -> Tensor:
    """Many rows by the matrix unit: weights rounded to bfloat16, ties away from 0, sums in float32."""
    bits = unpack_blocks(packed).view(torch.int32) + 0x8000
    weight = (bits & -0x10000).view(torch.float32)
    product = x.float() @ weight.T
    return (product if bias is None else product + bias).to(x.dtype)


def block_linear_twin(x: Tensor, packed: PackedBlocks, bias: Tensor | None) -> Tensor:
    """The same in torch."""
    if packed.form is Form.CHANNELS:
        return channel_linear_twin(x.float(), packed, bias).to(x.dtype)
    rows = x.float() if packed.form is Form.PAIRS else quantize_rows(x.float())
    product = rows @ unpack_blocks(packed).T
    return (product if bias is None else product + bias).to(x.dtype)


def quantize_rows(x: Tensor) -> Tensor:
    """``x [T, in]`` with each block of 32 rounded to multiples of its largest magnitude / 127."""
    blocks = x.view(x.shape[0], x.shape[1] // BLOCK, BLOCK)
    largest = blocks.abs().amax(dim=-1, keepdim=True)
    inverse = torch.where(largest > 0, 127 / largest, 0)
    return ((blocks * inverse).round() * (largest / 127)).view(x.shape)


def agrees(functions: ctypes.CDLL) -> bool:
    """Whether C and torch agree on one small matrix of each form, in lanes and by the matrix unit."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(9, 2 * BLOCK, generator=generator)
    many = torch.randn(_MANY_ROWS, 2 * BLOCK, generator=generator).bfloat16()
    many_twin = matrix_unit_twin if functions.has_matrix_unit() else block_linear_twin
    for stored_type in ("Q4_0", "Q8_0"):
        packed = pack_blocks(_random_blocks(stored_type, generator), stored_type)
        layer = BlockLinear(functions, packed)
        if not _near(layer(x), block_linear_twin(x, packed, None), _TOLERANCE):
            return False
        if not _near(layer(many), many_twin(many.float(), packed, None), _BFLOAT16_TOLERANCE):
            return False
    packed = pack_dense(torch.randn(20, 2 * BLOCK, generator=generator).bfloat16())
    return all(
        _near(
            BlockLinear(functions, packed)(rows),
            block_linear_twin(rows.float(), packed, None),
            _BFLOAT16_TOLERANCE,
        )
        for rows in (many[:3], many)
    )


def _near(found: Tensor, expected: Tensor, tolerance: float) -> bool:
    return bool((found.float() - expected).norm() <= tolerance * expected.norm())


def _random_blocks(stored_type: str, generator: torch.Generator) -> Tensor:
    """20 outputs of two blocks with scale 1 (0x3c00)."""
    block_bytes = {"Q4_0": 18, "Q8_0": 34}[stored_type]
    raw = torch.randint(0, 256, (20, 2, block_bytes), generator=generator, dtype=torch.uint8)
    raw[..., 0], raw[..., 1] = 0x00, 0x3C
    return raw.flatten(1)
