"""How the kernels are compiled: for this CPU, and with its threads where the compiler has OpenMP."""

from __future__ import annotations

from pathlib import Path

from reference_server.c_library import CLibrary

SOURCES = Path(__file__).parent
NAME = "kernels"
_NATIVE = ("-march=native",)


def build_library(target: tuple[str, ...] = _NATIVE) -> Path:
    """The path of the compiled kernels, from the cache if they are there.

    Args:
        target: Flags that choose the CPU to compile for.

    Raises:
        BuildError: No compiler, it failed, or the cache can't be written.
    """
    return CLibrary(NAME, SOURCES, ("-O3", *target), ("-fopenmp",)).build()
