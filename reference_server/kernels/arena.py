"""Memory for packed weights, in pieces large enough for huge pages."""

from __future__ import annotations

import mmap

import torch
from torch import Tensor

_PIECE_BYTES = 32 * 2**20
_ALIGNMENT = 64


class Arena:
    """Hands out memory piece by piece and never takes it back: it lives as long as a tensor in it does.

    A pass over the weights touches all of them; with pages of 4 KiB it would wait for address translation.
    """

    def __init__(self) -> None:
        self._piece = torch.empty(0, dtype=torch.uint8)
        self._used = 0

    def place(self, data: Tensor) -> Tensor:
        """A copy of a uint8 tensor that begins at a cache line."""
        if self._used + data.numel() > self._piece.numel():
            self._piece, self._used = _new_piece(max(_PIECE_BYTES, data.numel())), 0
        copy = self._piece[self._used : self._used + data.numel()]
        self._used += -(-data.numel() // _ALIGNMENT) * _ALIGNMENT
        return copy.view(data.shape).copy_(data)


def _new_piece(num_bytes: int) -> Tensor:
    memory = mmap.mmap(-1, num_bytes)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return torch.frombuffer(memory, dtype=torch.uint8)
