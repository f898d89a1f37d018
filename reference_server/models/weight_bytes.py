"""How much memory the weights of a model take."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


def weight_bytes(model: nn.Module) -> int:
    """Bytes of its parameters and buffers, those that modules share once."""
    tensors = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
