"""Attention of prompt chunks over blocks, against its twin in float64."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
import torch

pytest.importorskip("triton", reason="Triton is not installed: its kernels can't be interpreted")

from reference_server.kernels.gpu.paged_decode import Tables, paged_attention_twin
from reference_server.kernels.gpu.paged_prefill import ROWS, Chunks, paged_prefill, split_into_programs

RandomTensor = Callable[..., torch.Tensor]
Scattered = Callable[..., SimpleNamespace]

CONTEXTS = (5, 2, ROWS, 2 * ROWS + 1, 200, 64)
QUERIES = (1, 2, ROWS, 2 * ROWS + 1, ROWS + 1, 3)
TOLERANCES = {torch.float32: 2e-5, torch.float16: 2**-9, torch.bfloat16: 2**-6}


def prefill(
    query: torch.Tensor, place: SimpleNamespace, starts: np.ndarray, num_skipped: int
) -> torch.Tensor:
    output = torch.zeros(query.shape, dtype=query.dtype)
    arrays = (starts, *split_into_programs(starts, num_skipped))
    chunks = Chunks(*(torch.from_numpy(array).int() for array in arrays))
    tables = Tables(place.blocks.flatten(), place.width, place.contexts)
    paged_prefill(query, place.pool, tables, chunks, output)
    return output


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize(
    ("num_heads", "num_kv_heads", "dim", "block_size"), [(3, 1, 64, 16), (2, 2, 80, 5), (4, 2, 16, 32)]
)
def test_a_query_sees_its_past_and_nothing_else(
    random_tensor: RandomTensor,
    scattered: Scattered,
    num_heads: int,
    num_kv_heads: int,
    dim: int,
    block_size: int,
    dtype: torch.dtype,
) -> None:
    place = scattered(CONTEXTS, block_size=block_size, num_kv_heads=num_kv_heads, dim=dim, dtype=dtype)
    starts = np.concatenate([[0], np.cumsum(QUERIES)])
    query = random_tensor(int(starts[-1]), num_heads + 2, dim, dtype=dtype)[:, :num_heads]
    found = prefill(query, place, starts, num_skipped=1)
    assert not found[0].any(), "rows of sequences that decode are left alone"
    for row in range(1, len(CONTEXTS)):
        own = slice(int(starts[row]), int(starts[row + 1]))
        context = int(place.contexts[row])
        expected = paged_attention_twin(query[own].double(), place.pool.double(), place.blocks[row], context)
        tolerance = TOLERANCES[dtype]
        torch.testing.assert_close(found[own].double(), expected, rtol=tolerance, atol=tolerance)


def test_programs_cover_each_chunk_once() -> None:
    starts = np.array([0, 1, 1 + ROWS, 2 + 2 * ROWS, 5 + 2 * ROWS])
    sequences, firsts = split_into_programs(starts, num_skipped=1)
    assert sequences.tolist() == [1, 2, 2, 3]
    assert firsts.tolist() == [0, 0, ROWS, 0]


def test_no_chunks_make_no_programs() -> None:
    sequences, firsts = split_into_programs(np.array([0, 1, 2]), num_skipped=2)
    assert len(sequences) == len(firsts) == 0
