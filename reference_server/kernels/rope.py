"""Rotary position embedding, in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from reference_server.kernels.library import POINTER, SIZE, agree, kernel

if TYPE_CHECKING:
    import ctypes

ARGUMENTS = (POINTER, POINTER, POINTER, SIZE, SIZE, SIZE, SIZE, SIZE)


def rope(heads: Tensor, num_rotated: int, cos: Tensor, sin: Tensor) -> None:
    """Rotate the first ``num_rotated`` of ``heads [T, H, D]``, whose halves are coordinates.

    Args:
        heads: Changed in place.
        num_rotated: How many of the H heads, from the first on.
        cos: ``[T, 1, D]``.
        sin: Signed: negative for the first half. ``[T, 1, D]``, as far apart as the cosines.
    """
    functions = kernel(heads)
    if functions is None or cos.dtype is not heads.dtype:
        rope_twin(heads, num_rotated, cos, sin)
    else:
        _call(functions, heads, num_rotated, cos, sin)


def rope_twin(heads: Tensor, num_rotated: int, cos: Tensor, sin: Tensor) -> None:
    """The same in torch."""
    rotated, half = heads[:, :num_rotated], heads.shape[-1] // 2
    swapped = torch.cat([rotated[..., half:], rotated[..., :half]], dim=-1)
    rotated.copy_(torch.addcmul(rotated * cos, swapped, sin))


def agrees(functions: ctypes.CDLL) -> bool:
    """Whether C and torch agree on two rows of three heads."""
    generator = torch.Generator().manual_seed(0)
    ours = torch.randn(2, 3, 24, generator=generator).bfloat16()
    theirs = ours.clone()
    cos, sin = torch.randn(2, 2, 1, 24, generator=generator).bfloat16().unbind(dim=1)
    _call(functions, ours, 2, cos, sin)
    rope_twin(theirs, 2, cos, sin)
    return agree(ours, theirs) and torch.equal(ours[:, 2], theirs[:, 2])


def _call(functions: ctypes.CDLL, heads: Tensor, num_rotated: int, cos: Tensor, sin: Tensor) -> None:
    num_rows, num_heads, dim = heads.shape
    functions.rope(
        heads.data_ptr(), cos.data_ptr(), sin.data_ptr(), num_rows, num_heads, num_rotated, dim, cos.stride(0)
    )
