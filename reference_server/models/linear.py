"""Dense linear layers: the plain one, and one with weights packed ahead for the CPU's matrix units.

oneDNN computes in a blocked layout. ``linear`` packs the weights anew in every call; packing them once saves
a third of a decode step in bfloat16 and is no slower at any number of rows. The two operators are not part of
torch's stable interface, so they are tried once and left alone where they are absent or disagree.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

if TYPE_CHECKING:
    from collections.abc import Callable

_EXPECTED_ROWS = 8  # a hint for oneDNN's choice of layout; every number of rows works


class DenseLinear(nn.Module):
    """``x @ weight.T + bias`` by torch, for any device and precision."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.register_buffer("bias", bias)
        self.weight: Tensor
        self.bias: Tensor | None

    def forward(self, x: Tensor) -> Tensor:
        """``[T, in] -> [T, out]``."""
        return linear(x, self.weight, self.bias)


class PrepackedLinear(nn.Module):
    """The same on a CPU, with weights in oneDNN's layout."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.register_buffer("weight", _operator("_reorder_linear_weight")(weight, _EXPECTED_ROWS))
        self.register_buffer("bias", bias)
        self._multiply = _operator("_linear_pointwise")

    def forward(self, x: Tensor) -> Tensor:
        """``[T, in] -> [T, out]``."""
        return self._multiply(x, self.weight, self.bias, "none", [], "")


def _operator(name: str) -> Callable[..., Tensor]:
    """An operator of oneDNN; ``AttributeError`` if this torch has none of that name."""
    operator: Callable[..., Tensor] = getattr(torch.ops.mkldnn, name).default
    return operator


@functools.cache
def can_prepack() -> bool:
    """Whether this torch and CPU have the packed operators in bfloat16, and they agree with ``linear``."""
    weight = torch.linspace(-1, 1, 32 * 64).view(32, 64).bfloat16()
    x = torch.linspace(-1, 1, 3 * 64).view(3, 64).bfloat16()
    try:
        packed = PrepackedLinear(weight, None)(x)
    except (AttributeError, NotImplementedError, RuntimeError, TypeError):
        return False
    return torch.allclose(packed.float(), linear(x.float(), weight.float()), rtol=0.02, atol=0.05)


def dense_linear(weight: Tensor, bias: Tensor | None) -> nn.Module:
    """The fastest dense layer for weights of this precision on this device."""
    if weight.device.type == "cpu" and weight.dtype is torch.bfloat16 and can_prepack():
        return PrepackedLinear(weight, bias)
    return DenseLinear(weight, bias)
