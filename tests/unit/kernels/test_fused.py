"""Normalization, gate and rotation in C, against their twins in float64 and torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from reference_server.kernels import rms_norm, rope, silu_mul
from reference_server.kernels.library import KernelLibrary

if TYPE_CHECKING:
    import ctypes

HALF_STEP = 2**-8  # of bfloat16, relative: one rounding


@pytest.fixture(autouse=True)
def serving(functions: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks for kernels gets those under test."""
    monkeypatch.setattr("reference_server.kernels.library.kernel_library", lambda: KernelLibrary(functions))


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize(("num_rows", "size"), [(1, 576), (3, 31), (5, 64), (2, 1)])
@pytest.mark.parametrize("has_delta", [False, True])
def test_rms_norm_rounds_once(num_rows: int, size: int, has_delta: bool) -> None:
    residual, weight = random(num_rows, size).bfloat16(), random(size).bfloat16()
    delta = random(size, num_rows).T.contiguous().bfloat16() if has_delta else None
    total = residual + delta if delta is not None else residual.clone()
    found = rms_norm.rms_norm(residual, delta, weight, 1e-5)
    exact = rms_norm.rms_norm_twin(total.double(), None, weight.double(), 1e-5)
    torch.testing.assert_close(found.double(), exact, rtol=1.01 * HALF_STEP, atol=0)
    assert torch.equal(residual, total)


def test_rms_norm_of_zeros_is_zero() -> None:
    zeros = torch.zeros(2, 64, dtype=torch.bfloat16)
    assert not rms_norm.rms_norm(zeros, zeros.clone(), torch.ones_like(zeros[0]), 1e-5).any()


@pytest.mark.parametrize(("num_rows", "size"), [(1, 1536), (3, 17), (7, 64)])
def test_silu_mul_rounds_once(num_rows: int, size: int) -> None:
    gate_up = (random(num_rows, 2 * size) * 20).bfloat16()
    exact = silu_mul.silu_mul_twin(gate_up.double())
    torch.testing.assert_close(silu_mul.silu_mul(gate_up).double(), exact, rtol=1.01 * HALF_STEP, atol=1e-30)


def test_silu_mul_at_the_ends() -> None:
    gate_up = torch.tensor([[-3e38, -89.0, 0.0, 3e38, float("nan"), *[1.0] * 5]]).bfloat16()
    found = silu_mul.silu_mul(gate_up)[0]
    assert found[1:4].tolist() == pytest.approx([0, 0, gate_up[0, 3].item()], abs=1e-30)
    assert found[4].isnan()


@pytest.mark.parametrize(("num_rows", "num_heads", "num_rotated", "dim"), [(1, 15, 12, 64), (4, 3, 2, 24)])
def test_rope_rotates_the_first_heads_in_place(
    num_rows: int, num_heads: int, num_rotated: int, dim: int
) -> None:
    heads = random(num_rows, num_heads, dim).bfloat16()
    cos, sin = random(num_rows, 2, 1, dim).bfloat16().unbind(dim=1)
    exact = heads.double()
    rope.rope_twin(exact, num_rotated, cos.double(), sin.double())
    rope.rope(heads, num_rotated, cos, sin)
    torch.testing.assert_close(heads.double(), exact, rtol=1.01 * HALF_STEP, atol=1e-6)


def test_a_row_does_not_depend_on_its_neighbours() -> None:
    x, weight = random(5, 96).bfloat16(), random(96).bfloat16()
    together = rms_norm.rms_norm(x, None, weight, 1e-5)
    assert torch.equal(rms_norm.rms_norm(x[3:4], None, weight, 1e-5)[0], together[3])
    assert torch.equal(silu_mul.silu_mul(x[3:4])[0], silu_mul.silu_mul(x)[3])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_other_precisions_are_left_to_torch(dtype: torch.dtype) -> None:
    x = random(3, 64).to(dtype)
    assert torch.equal(silu_mul.silu_mul(x), silu_mul.silu_mul_twin(x))
    assert torch.equal(
        rms_norm.rms_norm(x, None, x[0], 1e-5), torch.nn.functional.rms_norm(x, (64,), x[0], 1e-5)
    )


def test_rows_that_lie_apart_are_left_to_torch() -> None:
    apart = random(3, 128).bfloat16()[:, :64]
    assert torch.equal(silu_mul.silu_mul(apart), silu_mul.silu_mul_twin(apart))
