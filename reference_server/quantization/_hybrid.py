"""A layer in C that leaves many rows to torch where that is faster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn

from reference_server.kernels.block_linear import BlockLinear
from reference_server.models.linear import can_prepack, dense_linear

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Callable

    from reference_server.kernels.packed_blocks import PackedBlocks

_MAX_FEW_ROWS = 32  # above, the packed bfloat16 product is faster without a matrix unit: kernels/DESIGN.md


def hybrid_linear(
    functions: ctypes.CDLL, packed: PackedBlocks, bias: Tensor | None, dense: Callable[[], Tensor]
) -> HybridLinear:
    """A layer on packed weights.

    Args:
        functions: The loaded kernels.
        packed: The weights.
        bias: ``[out]`` or None.
        dense: The weights ``[out, in]`` as torch takes them, if they are needed.
    """
    needs_dense = can_prepack() and not functions.has_matrix_unit()
    many = dense_linear(dense(), bias) if needs_dense else None
    return HybridLinear(BlockLinear(functions, packed, bias), many)


class HybridLinear(nn.Module):
    """Computes few rows on packed blocks and many on dense weights, which it holds besides if it has to.

    A row of few on quantized blocks is quantized, and of many is not: it differs by rounding with the
    number of rows, and by nothing else of its neighbours.
    """

    def __init__(self, few: BlockLinear, many: nn.Module | None) -> None:
        super().__init__()
        self.register_buffer("blocks", few.packed.data)
        self.few, self.many = few, many

    def takes_few(self, num_rows: int) -> bool:
        """Whether so many rows are computed on blocks."""
        return self.many is None or num_rows <= _MAX_FEW_ROWS

    @property
    def max_few_rows(self) -> int | None:
        """How many rows are computed on blocks at most; None: any number."""
        return None if self.many is None else _MAX_FEW_ROWS

    def forward(self, x: Tensor) -> Tensor:
        """``[T, in] -> [T, out]``."""
        if self.many is None or self.takes_few(x.shape[0]):
            return self.few(x)
        return self.many(x)  # type: ignore[no-any-return]  # nn.Module
