"""The library is built once, by whoever comes first, and torch serves where there is none."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import shutil
from typing import TYPE_CHECKING

import pytest
import torch

from reference_server import c_library
from reference_server.c_library import BuildError, cache_folder
from reference_server.kernels.compiler import NAME, SOURCES, build_library
from reference_server.kernels.library import kernel_library, kernel_names, load_library
from reference_server.kernels.packed_blocks import Form
from reference_server.models.checkpoint import StoredTensor
from reference_server.models.linear import DenseLinear, PrepackedLinear, can_prepack
from reference_server.quantization._hybrid import HybridLinear
from reference_server.quantization.gguf import GGUFScheme

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

QUICKLY = ("-march=native", "-O0")
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kernel_library.cache_clear()
    yield
    kernel_library.cache_clear()


@pytest.fixture
def shared_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where what a test doesn't compile itself may have been compiled already."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))


def layer(stored_type: str, dtype: torch.dtype) -> torch.nn.Module:
    weight = StoredTensor(
        (16, 32), stored_type, lambda: torch.ones(16, 32), lambda: torch.zeros(16, 20, dtype=torch.uint8)
    )
    return GGUFScheme().linear([weight], None, dtype=dtype, device=torch.device("cpu"))


@needs_compiler
def test_the_second_build_is_the_first() -> None:
    path = build_library(QUICKLY)
    before = path.stat().st_mtime_ns
    assert build_library(QUICKLY) == path
    assert path.stat().st_mtime_ns == before
    assert list(cache_folder(NAME).iterdir()) == [path]


@needs_compiler
def test_another_cpu_gets_a_library_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    path = build_library(QUICKLY)
    monkeypatch.setattr(c_library, "_cpu", lambda: "flags : another")
    assert build_library(QUICKLY) != path


@needs_compiler
def test_processes_that_build_at_once_all_get_a_whole_library() -> None:
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(3, mp_context=context) as pool:
        futures = [pool.submit(build_library, QUICKLY) for _ in range(3)]
        paths = [future.result(timeout=120) for future in futures]
    assert len(set(paths)) == 1
    assert list(cache_folder(NAME).iterdir()) == [paths[0]]
    assert load_library(paths[0]).isa


def test_without_a_compiler_torch_serves_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert kernel_library().functions is None
    assert "no C compiler was found" in kernel_library().note
    assert isinstance(layer("Q4_1", torch.bfloat16), (DenseLinear, PrepackedLinear))


@needs_compiler
def test_a_compiler_that_fails_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "cc"
    script.write_text('#!/bin/sh\n[ "$1" = --version ] && exit 0\necho "no such machine" >&2\nexit 1\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert kernel_library().note.endswith("cc failed: no such machine")


@needs_compiler
@pytest.mark.usefixtures("shared_cache")
def test_a_kernel_that_disagrees_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reference_server.kernels.block_linear.agrees", lambda _: False)
    assert kernel_library().functions is None
    assert "block_linear disagrees" in kernel_library().note


@needs_compiler
def test_a_cache_that_can_not_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert "could not be kept in" in kernel_library().note


def test_a_broken_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kernels.so").write_bytes(b"no library")
    with pytest.raises(BuildError, match="can't be loaded"):
        load_library(tmp_path / "kernels.so")


@needs_compiler
@pytest.mark.usefixtures("shared_cache")
def test_blocks_in_bfloat16_are_computed_on_and_others_made_dense() -> None:
    for stored_type, form in (("Q4_1", Form.NIBBLES), ("Q6_K", Form.PAIRS)):
        hybrid = layer(stored_type, torch.bfloat16)
        assert isinstance(hybrid, HybridLinear)
        assert hybrid.few.packed.form is form
    assert isinstance(layer("Q4_1", torch.float32), DenseLinear)


def test_every_kernel_has_its_twin_beside_it() -> None:
    assert kernel_names() == sorted(path.stem for path in SOURCES.glob("*.c"))


@needs_compiler
@pytest.mark.usefixtures("shared_cache")
@pytest.mark.skipif(not can_prepack(), reason="this torch or CPU has no packed bfloat16 layers")
def test_many_rows_are_computed_densely_where_there_is_no_matrix_unit() -> None:
    """The stand-in's blocks are zeros and its dense weights ones, so that the path can be told."""
    hybrid = layer("Q4_1", torch.bfloat16)
    assert isinstance(hybrid, HybridLinear)
    functions = kernel_library().functions
    assert functions is not None
    if functions.has_matrix_unit():
        assert hybrid.many is None
        return
    assert not hybrid(torch.ones(32, 32).bfloat16()).any()
    assert (hybrid(torch.ones(33, 32).bfloat16()) == 32).all()
