"""Small host arrays to the device: one copy for all, which the host does not wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from torch import Tensor

_ALIGNMENT = 4  # elements, 16 bytes: Triton compiles another variant for addresses that are not aligned so


def lay_out(sizes: Sequence[int]) -> tuple[list[slice], int]:
    """Places of so many elements one after the other, each from an aligned place on, and the end of all."""
    places, end = [], 0
    for size in sizes:
        places.append(slice(end, end + size))
        end += -(-size // _ALIGNMENT) * _ALIGNMENT
    return places, end


def pack(arrays: Sequence[npt.NDArray[np.integer]]) -> tuple[npt.NDArray[np.int32], list[slice]]:
    """One int32 array that holds all, and where each lies."""
    places, end = lay_out([array.size for array in arrays])
    packed = np.zeros(end, dtype=np.int32)
    for array, place in zip(arrays, places, strict=True):
        packed[place] = array
    return packed, places


def upload(arrays: Sequence[npt.NDArray[np.integer]], device: torch.device) -> list[Tensor]:
    """One-dimensional arrays of small integers as int32 tensors of the device."""
    packed, places = pack(arrays)
    on_device = to_device(packed, device)
    return [on_device[place] for place in places]


def to_device(array: npt.NDArray[np.generic], device: torch.device) -> Tensor:
    """An array as a tensor of the device, in the order of its stream."""
    return staged(array, device).to(device, non_blocking=True)


def staged(array: npt.NDArray[np.generic], device: torch.device) -> Tensor:
    """An array in memory from which a CUDA device copies by itself. Torch keeps it until that is done."""
    tensor = torch.from_numpy(array)
    return tensor.pin_memory() if device.type == "cuda" else tensor
