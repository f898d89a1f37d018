"""Whether the kernels are used at all."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
import torch

from reference_server.kernels import gpu_kernels

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Tried anew in each test, and after it."""
    gpu_kernels.gpu_kernels.cache_clear()
    yield
    gpu_kernels.gpu_kernels.cache_clear()


def module(answer: bool | Exception) -> SimpleNamespace:
    def agrees(_: torch.device) -> bool:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return SimpleNamespace(agrees=agrees)


@pytest.mark.parametrize(
    ("answer", "note"),
    [
        (True, ""),
        (False, "paged_decode, paged_prefill, rms_norm, rope_store, silu_mul disagree with torch"),
        (RuntimeError("no compiler\nlong trace"), "RuntimeError: no compiler)"),
    ],
)
def test_kernels_that_fail_or_disagree_are_left_alone_and_it_is_said(
    monkeypatch: pytest.MonkeyPatch, answer: bool | Exception, note: str
) -> None:
    monkeypatch.setattr(gpu_kernels, "import_module", lambda _: module(answer))
    monkeypatch.setattr(gpu_kernels, "find_spec", lambda _: object())
    found = gpu_kernels.gpu_kernels()
    assert found.serve == (answer is True)
    assert note in found.note
    assert bool(found.note) != found.serve


def test_without_triton_torch_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_kernels, "find_spec", lambda _: None)
    assert "install it" in gpu_kernels.gpu_kernels().note


def test_tensors_of_a_cpu_are_not_served() -> None:
    assert not gpu_kernels.serves(torch.zeros(1))
