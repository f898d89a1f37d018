"""Add to the residual stream and normalize it, in one pass over each row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from reference_server.kernels import rms_norm as cpu
from reference_server.kernels.gpu._launch import agree, num_warps, padded, random_tensor

if TYPE_CHECKING:
    from torch import Tensor


@triton.jit
def add_and_normalize(
    residual: tl.tensor,
    delta: tl.tensor,
    weight: tl.tensor,
    output: tl.tensor,
    outer_stride: tl.tensor,
    inner_stride: tl.tensor,
    num_inner: tl.tensor,
    size: tl.tensor,
    epsilon: tl.tensor,
    HAS_DELTA: tl.constexpr,
    SIZE_PADDED: tl.constexpr,
) -> None:
    """One row; ``num_inner`` of them lie ``inner_stride`` apart, then the next ones ``outer_stride``."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, SIZE_PADDED)
    inside = column < size
    place = residual + (row // num_inner) * outer_stride + (row % num_inner) * inner_stride + column
    x = tl.load(place, mask=inside, other=0.0)
    if HAS_DELTA:
        added = x.to(tl.float32) + tl.load(delta + row * size + column, mask=inside, other=0.0).to(tl.float32)
        x = added.to(x.dtype)
        tl.store(place, x, mask=inside)
    wide = x.to(tl.float32)
    scale = 1.0 / tl.sqrt(tl.sum(wide * wide, axis=0) / size + epsilon)
    normed = wide * scale * tl.load(weight + column, mask=inside, other=0.0).to(tl.float32)
    tl.store(output + row * size + column, normed.to(x.dtype), mask=inside)


def rms_norm(residual: Tensor, delta: Tensor | None, weight: Tensor, epsilon: float) -> Tensor:
    """As :func:`reference_server.kernels.rms_norm.rms_norm`.

    Args:
        residual: ``[T, size]`` or ``[T, heads, size]``; rows may lie apart.
        delta: Of the same shape, or None for nothing to add.
        weight: ``[size]``.
        epsilon: Added to the mean square.
    """
    size = residual.shape[-1]
    if residual.stride(-1) != 1:
        raise ValueError("the elements of a row must lie side by side")
    num_inner = residual.shape[1] if residual.dim() == 3 else 1
    output = torch.empty(residual.shape, dtype=residual.dtype, device=residual.device)
    num_rows = residual.shape[0] * num_inner
    if num_rows == 0:
        return output
    block = padded(size)
    add_and_normalize[(num_rows,)](
        residual,
        residual if delta is None else delta.contiguous(),
        weight,
        output,
        residual.stride(0),
        residual.stride(1) if residual.dim() == 3 else 0,
        num_inner,
        size,
        epsilon,
        HAS_DELTA=delta is not None,
        SIZE_PADDED=block,
        num_warps=num_warps(block),
    )
    return output


def agrees(device: torch.device) -> bool:
    """Whether Triton and torch agree on three rows, with the sum that is left behind."""
    ours = random_tensor(3, 70, device=device)
    theirs, delta, weight = ours.clone(), ours.flip(0).contiguous(), random_tensor(70, device=device)
    found = rms_norm(ours, delta, weight, 1e-5)
    return agree(found, cpu.rms_norm_twin(theirs, delta, weight, 1e-5)) and agree(ours, theirs)
