"""Triton kernels on the device, against their twins in float64."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
import torch

from reference_server.kernels.gpu_kernels import gpu_kernels, kernel_names
from reference_server.kernels.rms_norm import rms_norm_twin
from reference_server.kernels.silu_mul import silu_mul_twin

pytestmark = pytest.mark.gpu

TOLERANCES = {torch.float32: 2e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
DTYPES = pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
CONTEXTS = (1, 15, 16, 17, 63, 64, 65, 1000, 4097)
BLOCK_SIZE = 16


def random(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    generator = torch.Generator("cuda").manual_seed(sum(shape))
    return torch.randn(*shape, generator=generator, device="cuda").to(dtype)


def scattered(num_kv_heads: int, dim: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Pool and tables of ``CONTEXTS``; NaN in block 0 and behind each context."""
    width = -(-max(CONTEXTS) // BLOCK_SIZE)
    tables = (torch.randperm(len(CONTEXTS) * width, device="cuda") + 1).view(-1, width)
    pool = random(tables.numel() + 1, 2, num_kv_heads, BLOCK_SIZE, dim, dtype=dtype)
    pool[0] = float("nan")
    for table, context in zip(tables, CONTEXTS, strict=True):
        behind = torch.arange(width * BLOCK_SIZE, device="cuda") >= context
        pool[table] = pool[table].masked_fill(behind.view(width, 1, 1, BLOCK_SIZE, 1), float("nan"))
    return pool, tables.int()


def test_every_kernel_serves() -> None:
    assert gpu_kernels().note == ""
    assert gpu_kernels().serve


@pytest.mark.parametrize("name", ["paged_decode", "paged_prefill", "rms_norm", "rope_store", "silu_mul"])
def test_a_kernel_agrees_with_its_twin(name: str, device: torch.device) -> None:
    assert name in kernel_names()
    assert import_module(f"reference_server.kernels.gpu.{name}").agrees(device)


@DTYPES
@pytest.mark.parametrize(
    ("num_heads", "num_kv_heads", "dim", "num_splits"), [(9, 3, 64, 8), (8, 8, 80, 1), (32, 4, 128, 64)]
)
def test_decoding_attention(
    num_heads: int, num_kv_heads: int, dim: int, num_splits: int, dtype: torch.dtype
) -> None:
    from reference_server.kernels.gpu.paged_decode import Tables, paged_attention_twin, paged_decode

    pool, tables = scattered(num_kv_heads, dim, dtype)
    query = random(len(CONTEXTS), num_heads + 2 * num_kv_heads, dim, dtype=dtype)[:, :num_heads]
    output = torch.full(query.shape, float("nan"), dtype=dtype, device="cuda")
    width = torch.tensor([tables.shape[1]], dtype=torch.int32, device="cuda")
    contexts = torch.tensor(CONTEXTS, dtype=torch.int32, device="cuda")
    paged_decode(query, pool, Tables(tables.flatten(), width, contexts), output, num_splits)
    for row, context in enumerate(CONTEXTS):
        own = slice(row, row + 1)
        exact = paged_attention_twin(query[own].double(), pool.double(), tables[row], context)
        tolerance = TOLERANCES[dtype]
        torch.testing.assert_close(output[own].double(), exact, rtol=tolerance, atol=tolerance)


@DTYPES
@pytest.mark.parametrize(("num_heads", "num_kv_heads", "dim"), [(9, 3, 64), (32, 4, 128)])
def test_prompt_attention(num_heads: int, num_kv_heads: int, dim: int, dtype: torch.dtype) -> None:
    from reference_server.kernels.gpu.paged_decode import Tables, paged_attention_twin
    from reference_server.kernels.gpu.paged_prefill import Chunks, paged_prefill, split_into_programs

    pool, tables = scattered(num_kv_heads, dim, dtype)
    counts = np.minimum(CONTEXTS, [1, 15, 2, 17, 63, 64, 65, 300, 700])
    starts = np.concatenate([[0], counts.cumsum()])
    query = random(int(starts[-1]), num_heads + 2 * num_kv_heads, dim, dtype=dtype)[:, :num_heads]
    arrays = (starts, *split_into_programs(starts, num_skipped=1))
    chunks = Chunks(*(torch.from_numpy(array).int().cuda() for array in arrays))
    output = torch.zeros(query.shape, dtype=dtype, device="cuda")
    width = torch.tensor([tables.shape[1]], dtype=torch.int32, device="cuda")
    contexts = torch.tensor(CONTEXTS, dtype=torch.int32, device="cuda")
    paged_prefill(query, pool, Tables(tables.flatten(), width, contexts), chunks, output)
    assert not output[0].any(), "rows of sequences that decode are left alone"
    for row in range(1, len(CONTEXTS)):
        own = slice(int(starts[row]), int(starts[row + 1]))
        exact = paged_attention_twin(query[own].double(), pool.double(), tables[row], CONTEXTS[row])
        tolerance = TOLERANCES[dtype]
        torch.testing.assert_close(output[own].double(), exact, rtol=tolerance, atol=tolerance)


@DTYPES
@pytest.mark.parametrize(("num_rows", "size"), [(1, 576), (300, 2048), (7, 8192), (3, 31)])
def test_small_kernels(num_rows: int, size: int, dtype: torch.dtype) -> None:
    from reference_server.kernels.gpu.rms_norm import rms_norm
    from reference_server.kernels.gpu.silu_mul import silu_mul

    residual, delta = random(num_rows, size, dtype=dtype), random(size, num_rows, dtype=dtype).T
    weight, total = random(size, dtype=dtype), residual + delta
    tolerance = TOLERANCES[dtype]
    found = rms_norm(residual, delta, weight, 1e-5)
    assert torch.equal(residual, total)
    exact = rms_norm_twin(total.double(), None, weight.double(), 1e-5)
    torch.testing.assert_close(found.double(), exact, rtol=tolerance, atol=1e-6)
    gate_up = random(num_rows, 2 * size, dtype=dtype) * 20
    exact = silu_mul_twin(gate_up.double())
    torch.testing.assert_close(silu_mul(gate_up).double(), exact, rtol=tolerance, atol=1e-6)


def test_a_pool_of_more_than_2_to_the_31_elements() -> None:
    """Offsets are 64 bits wide: the last blocks are read and written, not some at the front."""
    from reference_server.kernels.gpu.paged_decode import Tables, paged_attention_twin, paged_decode
    from reference_server.kernels.gpu.rope_store import rope_store

    num_kv_heads, dim, block_size = 8, 128, 16
    num_blocks = 2**31 // (2 * num_kv_heads * block_size * dim) + 40
    if torch.cuda.mem_get_info()[0] < 3 * 2**31:
        pytest.skip("less than 6 GiB of memory are free")
    pool = torch.zeros(num_blocks, 2, num_kv_heads, block_size, dim, dtype=torch.bfloat16, device="cuda")
    last = torch.arange(num_blocks - 4, num_blocks, device="cuda")
    slots = (last.repeat_interleave(block_size) * block_size + torch.arange(64, device="cuda") % 16).int()
    qkv = random(64, 4 * num_kv_heads, dim, dtype=torch.bfloat16)
    ones = torch.ones(64, 1, dim, dtype=torch.bfloat16, device="cuda")
    rope_store(qkv, ones, 0 * ones, pool, slots)
    assert torch.equal(pool[-1, 1, :, -1], qkv[-1, -num_kv_heads:])
    assert not pool[: num_blocks - 4].any()
    query = qkv[-1:, : 2 * num_kv_heads]
    output = torch.empty_like(query)
    width, contexts = torch.tensor([[4], [64]], dtype=torch.int32, device="cuda")
    paged_decode(query, pool, Tables(last.int(), width, contexts), output, 1)
    exact = paged_attention_twin(query.double(), pool[-4:].double(), last - last[0], 64)
    torch.testing.assert_close(output.double(), exact, rtol=1.6e-2, atol=1.6e-2)
