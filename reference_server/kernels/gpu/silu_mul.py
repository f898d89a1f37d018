"""The gate of a feed-forward layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from reference_server.kernels import silu_mul as cpu
from reference_server.kernels.gpu._launch import agree

if TYPE_CHECKING:
    from torch import Tensor

_BLOCK = 1024


@triton.jit
def gate(gate_up: tl.tensor, output: tl.tensor, size: tl.tensor, BLOCK: tl.constexpr) -> None:
    """``BLOCK`` columns of a row."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < size
    place = gate_up + row * size * 2 + column
    x = tl.load(place, mask=inside, other=0.0)
    wide, up = x.to(tl.float32), tl.load(place + size, mask=inside, other=0.0).to(tl.float32)
    tl.store(output + row * size + column, (wide / (1.0 + tl.exp(-wide)) * up).to(x.dtype), mask=inside)


def silu_mul(gate_up: Tensor) -> Tensor:
    """As :func:`reference_server.kernels.silu_mul.silu_mul`."""
    num_rows, size = gate_up.shape[0], gate_up.shape[1] // 2
    gate_up = gate_up.contiguous()
    output = torch.empty(num_rows, size, dtype=gate_up.dtype, device=gate_up.device)
    if num_rows:
        gate[(num_rows, -(-size // _BLOCK))](gate_up, output, size, BLOCK=_BLOCK, num_warps=4)
    return output


def agrees(device: torch.device) -> bool:
    """Whether Triton and torch agree from -100 to 100."""
    gates, ups = torch.linspace(-100, 100, 74), torch.linspace(-1, 1, 74)
    gate_up = torch.cat([gates.view(2, 37), ups.view(2, 37)], dim=1).to(device, torch.bfloat16)
    return agree(silu_mul(gate_up), cpu.silu_mul_twin(gate_up))
