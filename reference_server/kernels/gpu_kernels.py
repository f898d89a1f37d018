"""Whether the Triton kernels of this process can be had: tried once, against their twins."""

from __future__ import annotations

import functools
import pkgutil
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

import torch

from reference_server.kernels import gpu

if TYPE_CHECKING:
    from torch import Tensor

_SLOWER = "torch computes instead of the Triton kernels, more slowly"


@dataclass(frozen=True)
class GPUKernels:
    """What there is.

    Attributes:
        serve: Whether the kernels can be used.
        note: Why they can't, for the user; empty if they can.
    """

    serve: bool
    note: str = ""


@functools.cache
def gpu_kernels() -> GPUKernels:
    """Launch each kernel and hold it against its twin. Never raises."""
    if find_spec("triton") is None:
        return GPUKernels(serve=False, note=f"{_SLOWER}: Triton is not installed; install it beside torch")
    try:
        wrong = [name for name in kernel_names() if not _agrees(name)]
    except Exception as error:  # noqa: BLE001  # a compiler and a driver raise what they like; torch serves
        message = str(error).strip().splitlines()[:1] or [""]
        reason = f"they can't be compiled here ({type(error).__name__}: {message[0]})"
        return GPUKernels(serve=False, note=f"{_SLOWER}: {reason}")
    if wrong:
        return GPUKernels(serve=False, note=f"{_SLOWER}: {', '.join(wrong)} disagree with torch here")
    return GPUKernels(serve=True)


def kernel_names() -> list[str]:
    """The kernels: the files of their folder, without those that begin with an underscore."""
    names = (info.name for info in pkgutil.iter_modules(gpu.__path__))
    return [name for name in names if not name.startswith("_")]


def serves(tensor: Tensor) -> bool:
    """Whether the kernels compute on such tensors: those of a CUDA device, where they can be had."""
    return tensor.is_cuda and gpu_kernels().serve


def _agrees(name: str) -> bool:
    with torch.inference_mode():
        return bool(import_module(f"{gpu.__name__}.{name}").agrees(torch.device("cuda")))
