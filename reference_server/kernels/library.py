"""The compiled kernels of this process: built, loaded and tried once."""

from __future__ import annotations

import ctypes
import functools
import importlib
import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from reference_server import kernels
from reference_server.c_library import BuildError
from reference_server.kernels.compiler import SOURCES, build_library

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

POINTER, SIZE, INT, FLOAT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int, ctypes.c_float
_TOLERANCE = 0.01  # two roundings to bfloat16


@dataclass(frozen=True)
class KernelLibrary:
    """What there is to call.

    Attributes:
        functions: The C functions; None where torch serves.
        isa: What they were compiled for: ``avx512vnni``, ``avx2`` or ``portable``.
        note: Why there are none, for the user; empty if there are.
    """

    functions: ctypes.CDLL | None
    isa: str = ""
    note: str = ""


@functools.cache
def kernel_library() -> KernelLibrary:
    """Build or find the library, load it and hold each kernel against its twin. Never raises."""
    try:
        loaded = load_library(build_library())
    except BuildError as error:
        return KernelLibrary(None, note=f"torch computes instead of the C kernels, more slowly: {error}")
    return loaded


def load_library(path: Path) -> KernelLibrary:
    """Load a library and try it.

    Raises:
        BuildError: It can't be loaded, this CPU can't run it, or a kernel disagrees with its twin.
    """
    try:
        functions = ctypes.CDLL(str(path))
    except OSError as error:
        raise BuildError(f"the compiled kernels can't be loaded ({error})") from error
    functions.kernel_isa.restype = ctypes.c_char_p
    isa = functions.kernel_isa().decode()
    if not isa:
        raise BuildError(f"this CPU can't run the compiled kernels; remove {path}")
    for name in kernel_names():
        module = importlib.import_module(f"{kernels.__name__}.{name}")
        getattr(functions, name).argtypes = module.ARGUMENTS
        if not module.agrees(functions):
            raise BuildError(f"the kernel {name} disagrees with torch on this machine")
    return KernelLibrary(functions, isa)


def kernel_names() -> list[str]:
    """The kernels: Python files that have a C file of the same name beside them."""
    found = [info.name for info in pkgutil.iter_modules(kernels.__path__)]
    return [name for name in found if (SOURCES / f"{name}.c").is_file()]


def kernel(*tensors: Tensor) -> ctypes.CDLL | None:
    """The C functions, if there are any and they compute on such tensors: dense bfloat16 on a CPU."""
    for tensor in tensors:
        if tensor.dtype is not torch.bfloat16 or not tensor.is_cpu or not tensor.is_contiguous():
            return None
    return kernel_library().functions


def agree(found: Tensor, expected: Tensor) -> bool:
    """Whether two results in bfloat16 differ by rounding only."""
    return torch.allclose(found.float(), expected.float(), rtol=_TOLERANCE, atol=_TOLERANCE)
