"""Attention over blocks in C, against its twin in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from reference_server.kernels.paged_decode import decode_functions, paged_decode, paged_decode_twin

if TYPE_CHECKING:
    import ctypes

BLOCK_SIZE = 8
CONTEXTS = (1, 7, 8, 9, 40, 97)


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def scattered(num_kv_heads: int, dim: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """A pool whose tables name blocks in no order; what lies behind a context is NaN."""
    width, contexts = -(-max(CONTEXTS) // BLOCK_SIZE), torch.tensor(CONTEXTS)
    tables = torch.randperm(len(CONTEXTS) * width, generator=torch.Generator().manual_seed(1)).view(-1, width)
    pool = random(tables.numel() + 1, BLOCK_SIZE, 2, num_kv_heads, dim).bfloat16()
    for table, context in zip(tables, CONTEXTS, strict=True):
        behind = torch.arange(width * BLOCK_SIZE) >= context
        pool[table] = pool[table].masked_fill(behind.view(width, BLOCK_SIZE, 1, 1, 1), float("nan"))
    return pool, tables, contexts


@pytest.mark.parametrize(("num_heads", "num_kv_heads"), [(9, 3), (4, 4), (4, 1)])
@pytest.mark.parametrize("dim", [32, 64, 96, 128])
@pytest.mark.parametrize("num_threads", [1, 2])
def test_every_sequence_sees_its_own_tokens_and_no_others(
    functions: ctypes.CDLL, num_heads: int, num_kv_heads: int, dim: int, num_threads: int
) -> None:
    pool, tables, contexts = scattered(num_kv_heads, dim)
    query = random(len(CONTEXTS), num_heads + 2, dim).bfloat16()[:, :num_heads]
    exact = paged_decode_twin(query.double(), pool.double(), tables, contexts)
    before = torch.get_num_threads()
    torch.set_num_threads(num_threads)
    found = paged_decode(functions, query, pool, tables, contexts)
    torch.set_num_threads(before)
    torch.testing.assert_close(found.double(), exact, rtol=2**-8, atol=1e-5)


def test_a_sequence_does_not_depend_on_its_neighbours(functions: ctypes.CDLL) -> None:
    pool, tables, contexts = scattered(2, 64)
    query = random(len(CONTEXTS), 4, 64).bfloat16()
    together = paged_decode(functions, query, pool, tables, contexts)
    for row in range(len(CONTEXTS)):
        alone = slice(row, row + 1)
        found = paged_decode(functions, query[alone], pool, tables[alone].contiguous(), contexts[alone])
        assert torch.equal(found[0], together[row])


def test_large_scores_neither_overflow_nor_vanish(functions: ctypes.CDLL) -> None:
    pool, tables, contexts = scattered(1, 32)
    query = 300 * random(len(CONTEXTS), 1, 32).bfloat16()
    exact = paged_decode_twin(query.double(), pool.double(), tables, contexts)
    found = paged_decode(functions, query, pool, tables, contexts)
    torch.testing.assert_close(found.double(), exact, rtol=0.02, atol=0.02)


@pytest.mark.parametrize(("dim", "dtype"), [(48, torch.bfloat16), (64, torch.float32)])
def test_other_pools_are_left_to_torch(dim: int, dtype: torch.dtype) -> None:
    assert decode_functions(torch.zeros(2, BLOCK_SIZE, 2, 1, dim, dtype=dtype)) is None


def test_heads_that_lie_apart_are_read_right(functions: ctypes.CDLL) -> None:
    pool, tables, contexts = scattered(2, 32)
    apart = random(len(CONTEXTS), 4, 64).bfloat16()[..., :32]
    found = paged_decode(functions, apart, pool, tables, contexts)
    assert torch.equal(found, paged_decode(functions, apart.contiguous(), pool, tables, contexts))
