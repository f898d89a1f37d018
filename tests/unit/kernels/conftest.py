"""The kernels, compiled for several CPUs."""

from __future__ import annotations

import os
import platform
from typing import TYPE_CHECKING
from unittest import mock

import pytest

from reference_server.c_library import BuildError
from reference_server.kernels.compiler import build_library
from reference_server.kernels.library import load_library

if TYPE_CHECKING:
    import ctypes
    from pathlib import Path

X86 = ("-march=cooperlake", "-march=x86-64-v3", "-march=x86-64")


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where this run keeps what it compiles, all its workers together: they differ in their last folder."""
    place = tmp_path_factory.getbasetemp()
    return (place.parent if "PYTEST_XDIST_WORKER" in os.environ else place) / "kernels"


@pytest.fixture(scope="session", params=["-march=native", *X86])
def functions(request: pytest.FixtureRequest, cache: Path) -> ctypes.CDLL:
    """Compiled for this CPU, for AVX-512 without a matrix unit, for AVX2, for any: the forms of the code."""
    if request.param in X86 and platform.machine() != "x86_64":
        pytest.skip("forms of x86")
    with mock.patch.dict(os.environ, XDG_CACHE_HOME=str(cache)):
        try:
            library = load_library(build_library((request.param,)))
        except BuildError as error:
            if "can't run" in str(error) or "no C compiler" in str(error):
                pytest.skip(str(error))
            raise
    assert library.functions is not None
    return library.functions
