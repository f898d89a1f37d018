"""Add to the residual stream and normalize it, in one pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

from reference_server.kernels import gpu_kernels
from reference_server.kernels.library import FLOAT, POINTER, SIZE, agree, kernel

if TYPE_CHECKING:
    import ctypes

ARGUMENTS = (POINTER, POINTER, POINTER, POINTER, SIZE, SIZE, FLOAT)


def rms_norm(residual: Tensor, delta: Tensor | None, weight: Tensor, epsilon: float) -> Tensor:
    """Add ``delta`` to ``residual`` in place and return the sum scaled to mean square 1, times ``weight``.

    Args:
        residual: ``[..., size]``.
        delta: Of the same shape, or None for nothing to add.
        weight: ``[size]``.
        epsilon: Added to the mean square.
    """
    if gpu_kernels.serves(residual):
        from reference_server.kernels.gpu.rms_norm import rms_norm as on_gpu  # needs Triton

        return on_gpu(residual, delta, weight, epsilon)
    functions = kernel(residual, weight) if delta is None else kernel(residual, delta, weight)
    if functions is None:
        return rms_norm_twin(residual, delta, weight, epsilon)
    return _call(functions, residual, delta, weight, epsilon)


def rms_norm_twin(residual: Tensor, delta: Tensor | None, weight: Tensor, epsilon: float) -> Tensor:
    """The same in torch."""
    if delta is not None:
        residual += delta
    return functional.rms_norm(residual, weight.shape, weight, epsilon)


def agrees(functions: ctypes.CDLL) -> bool:
    """Whether C and torch agree on three rows."""
    generator = torch.Generator().manual_seed(0)
    ours, delta = torch.randn(2, 3, 70, generator=generator).bfloat16()
    theirs, weight = ours.clone(), torch.linspace(-1, 1, 70).bfloat16()
    found = _call(functions, ours, delta, weight, 1e-5)
    return agree(found, rms_norm_twin(theirs, delta, weight, 1e-5)) and torch.equal(ours, theirs)


def _call(
    functions: ctypes.CDLL, residual: Tensor, delta: Tensor | None, weight: Tensor, epsilon: float
) -> Tensor:
    output = torch.empty_like(residual)
    size = weight.shape[0]
    address = None if delta is None else delta.data_ptr()
    functions.rms_norm(
        residual.data_ptr(), address, weight.data_ptr(), output.data_ptr(),
        residual.numel() // size, size, epsilon,
    )  # fmt: skip
    return output
