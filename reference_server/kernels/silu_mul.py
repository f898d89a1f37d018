"""The gate of a feed-forward layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import silu

from reference_server.kernels import gpu_kernels
from reference_server.kernels.library import POINTER, SIZE, agree, kernel

if TYPE_CHECKING:
    import ctypes

ARGUMENTS = (POINTER, POINTER, SIZE, SIZE)


def silu_mul(gate_up: Tensor) -> Tensor:
    """``silu(gate) x up``, ``[T, size]``, of ``gate_up [T, 2 size]``: gates, then ups."""
    if gpu_kernels.serves(gate_up):
        from reference_server.kernels.gpu.silu_mul import silu_mul as on_gpu  # needs Triton

        return on_gpu(gate_up)
    functions = kernel(gate_up)
    return silu_mul_twin(gate_up) if functions is None else _call(functions, gate_up)


def silu_mul_twin(gate_up: Tensor) -> Tensor:
    """The same in torch."""
    gate, up = gate_up.chunk(2, dim=-1)
    return silu(gate) * up


def agrees(functions: ctypes.CDLL) -> bool:
    """Whether C and torch agree from -100 to 100."""
    gate_up = torch.stack([torch.linspace(-100, 100, 74), torch.ones(74)], dim=1).view(2, 74).bfloat16()
    return agree(_call(functions, gate_up), silu_mul_twin(gate_up))


def _call(functions: ctypes.CDLL, gate_up: Tensor) -> Tensor:
    num_rows, size = gate_up.shape[0], gate_up.shape[1] // 2
    output = torch.empty(num_rows, size, dtype=gate_up.dtype)
    functions.silu_mul(gate_up.data_ptr(), output.data_ptr(), num_rows, size)
    return output
