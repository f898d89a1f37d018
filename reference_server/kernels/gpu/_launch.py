"""What all launches share."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

_TOLERANCE = {torch.float32: 1e-4, torch.float16: 4e-3, torch.bfloat16: 2e-2}
_ASSUMED_MULTIPROCESSORS = 128  # where there is no device: in the interpreter


def padded(size: int, least: int = 1) -> int:
    """The least power of two that is no smaller than ``size`` and ``least``: sizes of Triton's tiles."""
    return max(least, 1 << (size - 1).bit_length())


def num_warps(tile_size: int) -> int:
    """Warps of a program that goes over ``tile_size`` elements once: 1 to 8, at least 8 elements a thread."""
    return min(8, max(1, tile_size // 256))


@functools.cache
def num_multiprocessors(device: torch.device) -> int:
    """Programs that a device runs side by side, at one for each multiprocessor."""
    if device.type != "cuda":
        return _ASSUMED_MULTIPROCESSORS
    return torch.cuda.get_device_properties(device).multi_processor_count


def multiplies_float32(dtype: torch.dtype, device: torch.device) -> bool:
    """Whether matrix products must be made of float32: for float32, and in the interpreter.

    The interpreter keeps bfloat16 as 16-bit integers and would multiply those.
    """
    return dtype is torch.float32 or device.type != "cuda"


def agree(found: Tensor, expected: Tensor) -> bool:
    """Whether two results differ by rounding only."""
    tolerance = _TOLERANCE[found.dtype]
    return torch.allclose(found.float(), expected.float(), rtol=tolerance, atol=tolerance)


def random_tensor(*shape: int, device: torch.device, dtype: torch.dtype = torch.bfloat16) -> Tensor:
    """Normal numbers that depend on the shape alone."""
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(*shape, generator=generator).to(device, dtype)
