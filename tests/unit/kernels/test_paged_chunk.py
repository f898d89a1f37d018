"""Attention of a chunk of a prompt in C, against its twin in float64."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from reference_server.kernels.paged_chunk import chunk_functions, paged_chunk, paged_chunk_twin

if TYPE_CHECKING:
    import ctypes

CHUNKS = ((1, 1), (2, 2), (5, 5), (3, 64), (33, 65), (40, 200), (200, 200), (7, 321))
"""Queries, and tokens of the sequence with them."""


@pytest.fixture(params=[True, False], ids=["unit", "lanes"])
def use_matrix_unit(request: pytest.FixtureRequest) -> bool:
    """Without AMX both are the same path."""
    unit = bool(request.param)
    flags = Path("/proc/cpuinfo")
    if unit and not (flags.is_file() and re.search(r"\bamx_bf16\b", flags.read_text())):
        pytest.skip("no AMX")
    return unit


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def scattered(
    context: int, block_size: int = 16, num_kv_heads: int = 3, dim: int = 64
) -> tuple[torch.Tensor, torch.Tensor]:
    """A pool and a table that names blocks in no order; what lies behind the context is NaN."""
    width = -(-context // block_size)
    table = torch.randperm(width + 2, generator=torch.Generator().manual_seed(1))[:width]
    pool = random(width + 2, block_size, 2, num_kv_heads, dim).bfloat16()
    behind = torch.arange(width * block_size) >= context
    pool[table] = pool[table].masked_fill(behind.view(width, block_size, 1, 1, 1), float("nan"))
    return pool, table


@pytest.mark.parametrize(("num_queries", "context"), CHUNKS)
def test_c_attends_as_torch_does(
    functions: ctypes.CDLL, use_matrix_unit: bool, num_queries: int, context: int
) -> None:
    pool, table = scattered(context)
    query = random(num_queries, 9, 64).bfloat16()
    exact = paged_chunk_twin(query.double(), pool.double(), table, context)
    found = paged_chunk(functions, query, pool, table, context, use_matrix_unit=use_matrix_unit)
    torch.testing.assert_close(found.double(), exact, rtol=0.01, atol=0.01)


@pytest.mark.parametrize(("num_heads", "num_kv_heads"), [(4, 4), (4, 1), (10, 2)])
@pytest.mark.parametrize("dim", [32, 96, 128])
@pytest.mark.parametrize("block_size", [1, 5, 64])
def test_heads_and_blocks_of_any_size(
    functions: ctypes.CDLL,
    use_matrix_unit: bool,
    num_heads: int,
    num_kv_heads: int,
    dim: int,
    block_size: int,
) -> None:
    pool, table = scattered(77, block_size, num_kv_heads, dim)
    query = random(19, num_heads, dim).bfloat16()
    exact = paged_chunk_twin(query.double(), pool.double(), table, 77)
    found = paged_chunk(functions, query, pool, table, 77, use_matrix_unit=use_matrix_unit)
    torch.testing.assert_close(found.double(), exact, rtol=0.01, atol=0.01)


@pytest.mark.parametrize("num_threads", [1, 2])
def test_a_row_depends_on_no_other_and_not_on_the_chunk(
    functions: ctypes.CDLL, use_matrix_unit: bool, num_threads: int
) -> None:
    """Bit for bit: a prompt in one piece and in several."""
    pool, table = scattered(150)
    query = random(150, 9, 64).bfloat16()
    before = torch.get_num_threads()
    torch.set_num_threads(num_threads)
    whole = paged_chunk(functions, query, pool, table, 150, use_matrix_unit=use_matrix_unit)
    torch.set_num_threads(before)
    for first, last in ((0, 64), (64, 150), (3, 4), (40, 107)):
        piece = paged_chunk(functions, query[first:last], pool, table, last, use_matrix_unit=use_matrix_unit)
        assert torch.equal(piece, whole[first:last])


def test_large_scores_neither_overflow_nor_vanish(functions: ctypes.CDLL, use_matrix_unit: bool) -> None:
    pool, table = scattered(90, num_kv_heads=1, dim=32)
    query = 300 * random(90, 1, 32).bfloat16()
    exact = paged_chunk_twin(query.double(), pool.double(), table, 90)
    found = paged_chunk(functions, query, pool, table, 90, use_matrix_unit=use_matrix_unit)
    torch.testing.assert_close(found.double(), exact, rtol=0.02, atol=0.02)


@pytest.mark.parametrize(("dim", "dtype"), [(48, torch.bfloat16), (64, torch.float32)])
def test_other_pools_are_left_to_torch(dim: int, dtype: torch.dtype) -> None:
    assert chunk_functions(torch.zeros(2, 8, 2, 1, dim, dtype=dtype)) is None


def test_rows_that_lie_apart_are_read_right(functions: ctypes.CDLL) -> None:
    """As queries do that are part of one tensor with keys and values."""
    pool, table = scattered(30, num_kv_heads=2, dim=32)
    apart = random(20, 8, 32).bfloat16()[:, :4]
    found = paged_chunk(functions, apart, pool, table, 30)
    assert torch.equal(found, paged_chunk(functions, apart.contiguous(), pool, table, 30))
