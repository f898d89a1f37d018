"""Normalization, gate, rotation and store, against exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from reference_server.kernels.rms_norm import rms_norm_twin
from reference_server.kernels.rope import rope_twin
from reference_server.kernels.silu_mul import silu_mul_twin

pytest.importorskip("triton", reason="Triton is not installed: its kernels can't be interpreted")

from reference_server.kernels.gpu.rms_norm import rms_norm
from reference_server.kernels.gpu.rope_store import rope_store, store_twin
from reference_server.kernels.gpu.silu_mul import silu_mul

RandomTensor = Callable[..., torch.Tensor]

ONE_ROUNDING = {torch.float32: 1e-6, torch.float16: 1.01 * 2**-11, torch.bfloat16: 1.01 * 2**-7}
"""Relative. The interpreter cuts bfloat16 off, where a device rounds."""

DTYPES = pytest.mark.parametrize("dtype", ONE_ROUNDING, ids=str)


@DTYPES
@pytest.mark.parametrize(("num_rows", "size"), [(1, 576), (3, 31), (5, 64), (2, 1)])
@pytest.mark.parametrize("has_delta", [False, True])
def test_rms_norm_rounds_once(
    random_tensor: RandomTensor, num_rows: int, size: int, has_delta: bool, dtype: torch.dtype
) -> None:
    residual, weight = random_tensor(num_rows, size, dtype=dtype), random_tensor(size, dtype=dtype)
    delta = random_tensor(size, num_rows, dtype=dtype).T if has_delta else None
    total = residual + delta if delta is not None else residual.clone()
    found = rms_norm(residual, delta, weight, 1e-5)
    torch.testing.assert_close(residual, total, rtol=ONE_ROUNDING[dtype], atol=0)
    exact = rms_norm_twin(residual.double(), None, weight.double(), 1e-5)
    assert found.dtype is dtype
    torch.testing.assert_close(found.double(), exact, rtol=ONE_ROUNDING[dtype], atol=1e-7)


def test_rms_norm_of_heads_that_lie_apart(random_tensor: RandomTensor) -> None:
    qkv = random_tensor(3, 7, 24)
    heads = qkv[:, 2:5]
    found = rms_norm(heads, None, random_tensor(24), 1e-6)
    assert found.is_contiguous()
    torch.testing.assert_close(found, rms_norm_twin(heads, None, random_tensor(24), 1e-6))


def test_rms_norm_of_nothing_and_of_zeros(random_tensor: RandomTensor) -> None:
    assert rms_norm(random_tensor(0, 8), None, torch.ones(8), 1e-5).shape == (0, 8)
    assert not rms_norm(torch.zeros(2, 8), torch.zeros(2, 8), torch.ones(8), 1e-5).any()


def test_rms_norm_refuses_rows_in_pieces() -> None:
    with pytest.raises(ValueError, match="side by side"):
        rms_norm(torch.zeros(8, 2).T, None, torch.ones(8), 1e-5)


@DTYPES
@pytest.mark.parametrize(("num_rows", "size"), [(1, 1536), (3, 17), (2, 1024), (0, 4)])
def test_silu_mul_rounds_once(
    random_tensor: RandomTensor, num_rows: int, size: int, dtype: torch.dtype
) -> None:
    gate_up = random_tensor(num_rows, 2 * size, dtype=dtype) * 5
    exact = silu_mul_twin(gate_up.double())
    found = silu_mul(gate_up)
    torch.testing.assert_close(found.double(), exact, rtol=ONE_ROUNDING[dtype], atol=1e-7)


@pytest.mark.filterwarnings("ignore:overflow encountered in exp:RuntimeWarning")  # as it must: 1 / inf is 0
def test_silu_mul_at_the_ends() -> None:
    gate_up = torch.tensor([[-3e38, -89.0, 0.0, 3e38, float("nan"), *[1.0] * 5]])
    found = silu_mul(gate_up)[0]
    assert found[1:4].tolist() == pytest.approx([0, 0, 3e38], rel=1e-6, abs=1e-30)
    assert found[4].isnan()


@DTYPES
@pytest.mark.parametrize(
    ("num_heads", "num_kv_heads", "dim", "block_size"), [(9, 3, 64, 16), (4, 4, 24, 5), (1, 1, 80, 1)]
)
def test_rope_store_rotates_queries_and_stores_keys_and_values(
    random_tensor: RandomTensor,
    num_heads: int,
    num_kv_heads: int,
    dim: int,
    block_size: int,
    dtype: torch.dtype,
) -> None:
    num_all = num_heads + 2 * num_kv_heads
    qkv = random_tensor(3, num_all + 1, dim, dtype=dtype)[:, :num_all]
    cos, sin = random_tensor(3, 2, 1, dim, dtype=dtype).unbind(dim=1)
    pool = random_tensor(7, 2, num_kv_heads, block_size, dim, dtype=dtype)
    slots = torch.tensor([1, 0, 3], dtype=torch.int32) * block_size + block_size - 1
    exact, expected = qkv.double(), pool.clone()
    rope_twin(exact, num_heads + num_kv_heads, cos.double(), sin.double())
    value = qkv[:, -num_kv_heads:].clone()
    rope_store(qkv, cos, sin, pool, slots)
    tolerance = ONE_ROUNDING[dtype]
    torch.testing.assert_close(qkv[:, :num_heads].double(), exact[:, :num_heads], rtol=tolerance, atol=1e-6)
    store_twin(exact[:, num_heads : num_heads + num_kv_heads].to(dtype), value, expected, slots)
    torch.testing.assert_close(pool, expected, rtol=2 * tolerance, atol=1e-6)
    assert torch.equal(pool[slots // block_size, 1, :, slots % block_size], value)


def test_rope_store_of_nothing_changes_nothing(random_tensor: RandomTensor) -> None:
    pool = random_tensor(2, 2, 1, 4, 8)
    before = pool.clone()
    empty = torch.empty(0, 3, 8)
    rope_store(empty, empty[:, :1], empty[:, :1], pool, torch.empty(0, dtype=torch.int32))
    assert torch.equal(pool, before)


def test_a_row_does_not_depend_on_its_neighbours(random_tensor: RandomTensor) -> None:
    x, weight = random_tensor(5, 96, dtype=torch.bfloat16), random_tensor(96, dtype=torch.bfloat16)
    assert torch.equal(rms_norm(x[3:4], None, weight, 1e-5)[0], rms_norm(x, None, weight, 1e-5)[3])
    assert torch.equal(silu_mul(x[3:4])[0], silu_mul(x)[3])
