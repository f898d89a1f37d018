"""The compiled kernels of this process: built, loaded and tried once."""

from __future__ import annotations

import ctypes
import functools
import importlib
import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reference_server import kernels
from reference_server.kernels.compiler import SOURCES, KernelBuildError, build_library

if TYPE_CHECKING:
    from pathlib import Path


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
    except KernelBuildError as error:
        return KernelLibrary(None, note=f"torch computes instead of the C kernels, more slowly: {error}")
    return loaded


def load_library(path: Path) -> KernelLibrary:
    """Load a library and try it.

    Raises:
        KernelBuildError: It can't be loaded, this CPU can't run it, or a kernel disagrees with its twin.
    """
    try:
        functions = ctypes.CDLL(str(path))
    except OSError as error:
        raise KernelBuildError(f"the compiled kernels can't be loaded ({error})") from error
    functions.kernel_isa.restype = ctypes.c_char_p
    isa = functions.kernel_isa().decode()
    if not isa:
        raise KernelBuildError(f"this CPU can't run the compiled kernels; remove {path}")
    for name in kernel_names():
        if not importlib.import_module(f"{kernels.__name__}.{name}").agrees(functions):
            raise KernelBuildError(f"the kernel {name} disagrees with torch on this machine")
    return KernelLibrary(functions, isa)


def kernel_names() -> list[str]:
    """The kernels: Python files that have a C file of the same name beside them."""
    found = [info.name for info in pkgutil.iter_modules(kernels.__path__)]
    return [name for name in found if (SOURCES / f"{name}.c").is_file()]
