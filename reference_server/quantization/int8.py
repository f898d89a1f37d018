"""``int8``: weights in 8 bits with a scale for each output, activations in 16 with a scale for each row.

Any checkpoint is quantized when the model is built. In bfloat16 on a CPU a kernel in C multiplies, with the
CPU's matrix unit where there is one; elsewhere on a CPU torch does, by the same rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from reference_server.kernels.arena import Arena
from reference_server.kernels.channel_linear import quantize_whole_rows
from reference_server.kernels.library import kernel_library
from reference_server.kernels.packed_blocks import pack_channels
from reference_server.quantization import UnsupportedQuantizationError
from reference_server.quantization._hybrid import hybrid_linear
from reference_server.quantization.none import joined

if TYPE_CHECKING:
    from reference_server.models.checkpoint import Checkpoint, StoredTensor

_LARGEST = 127


class Int8Scheme:
    """Layers in 8 bits, from weights of any type."""

    def __init__(self) -> None:
        self._arena = Arena()

    def check(self, checkpoint: Checkpoint) -> None:
        """Every checkpoint can be quantized."""

    def linear(
        self, weights: list[StoredTensor], bias: Tensor | None, *, dtype: torch.dtype, device: torch.device
    ) -> nn.Module:
        """Read, join and quantize the weights.

        Raises:
            UnsupportedQuantizationError: The device is no CPU.
        """
        if device.type != "cpu":
            raise UnsupportedQuantizationError(
                "quantization 'int8' is built for CPUs only; leave it out or say 'none' on a GPU"
            )
        values, scales = quantize_channels(joined(weights, torch.float32, device))
        functions = kernel_library().functions if dtype is torch.bfloat16 else None
        if functions is None:
            return Int8Linear(values, scales, bias)
        packed = pack_channels(values, scales).placed_in(self._arena)
        return hybrid_linear(functions, packed, bias, lambda: (values * scales.float()).to(dtype))


class Int8Linear(nn.Module):
    """The rule in torch: for float32, and where there is no compiler."""

    def __init__(self, values: Tensor, scales: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.register_buffer("values", values)
        self.register_buffer("scales", scales)
        self.register_buffer("bias", bias)
        self.values: Tensor
        self.scales: Tensor
        self.bias: Tensor | None

    def forward(self, x: Tensor) -> Tensor:
        """``[T, in] -> [T, out]``; sums in float32."""
        product = quantize_whole_rows(x.float()) @ self.values.float().T * self.scales.float().T
        return (product if self.bias is None else product + self.bias.float()).to(x.dtype)


def quantize_channels(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Round each row of ``weight [out, in]`` to multiples of its largest magnitude / 127.

    Returns:
        Values, int8 ``[out, in]``, and scales, float16 ``[out, 1]``. A row of zeros has zeros of both,
        and so has one whose scale is 0 in float16.
    """
    scales = (weight.abs().amax(dim=1, keepdim=True) / _LARGEST).half()
    inverse = torch.where(scales > 0, 1 / scales.float(), 0.0)
    return (weight * inverse).round().clamp(-_LARGEST, _LARGEST).to(torch.int8), scales


SCHEME = Int8Scheme
