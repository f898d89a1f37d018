"""Attention of single tokens over blocks and splits, against its twin in float64."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch

pytest.importorskip("triton", reason="Triton is not installed: its kernels can't be interpreted")

from reference_server.kernels.gpu.paged_decode import (
    MAX_SPLITS,
    TILE,
    Tables,
    choose_num_splits,
    paged_attention_twin,
    paged_decode,
)

RandomTensor = Callable[..., torch.Tensor]
Scattered = Callable[..., SimpleNamespace]

CONTEXTS = (1, 15, 16, 17, TILE, TILE + 1, 4 * TILE - 1, 5 * TILE + 3)
TOLERANCES = {torch.float32: 2e-5, torch.float16: 2**-9, torch.bfloat16: 2**-6}


def decode(query: torch.Tensor, place: SimpleNamespace, num_splits: int) -> torch.Tensor:
    output = torch.full(query.shape, float("nan"), dtype=query.dtype)
    tables = Tables(place.blocks.flatten(), place.width, place.contexts)
    paged_decode(query, place.pool, tables, output, num_splits)
    return output


def exact(query: torch.Tensor, place: SimpleNamespace) -> torch.Tensor:
    pool = place.pool.double()
    rows = [
        paged_attention_twin(query[row : row + 1].double(), pool, place.blocks[row], context)
        for row, context in enumerate(place.contexts.tolist())
    ]
    return torch.cat(rows)


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize(
    ("num_heads", "num_kv_heads", "dim", "block_size", "num_splits"),
    [(3, 1, 64, 16, 8), (2, 2, 80, 5, 1), (17, 1, 16, 1, 4), (4, 2, 128, 32, 2)],
)
def test_every_sequence_sees_its_own_tokens_and_no_others(
    random_tensor: RandomTensor,
    scattered: Scattered,
    num_heads: int,
    num_kv_heads: int,
    dim: int,
    block_size: int,
    num_splits: int,
    dtype: torch.dtype,
) -> None:
    place = scattered(CONTEXTS, block_size=block_size, num_kv_heads=num_kv_heads, dim=dim, dtype=dtype)
    query = random_tensor(len(CONTEXTS), num_heads + 2, dim, dtype=dtype)[:, :num_heads]
    found = decode(query, place, num_splits)
    assert found.dtype is dtype
    tolerance = TOLERANCES[dtype]
    torch.testing.assert_close(found.double(), exact(query, place), rtol=tolerance, atol=tolerance)


def test_a_sequence_does_not_depend_on_its_neighbours(
    random_tensor: RandomTensor, scattered: Scattered
) -> None:
    place = scattered(CONTEXTS, block_size=16, num_kv_heads=1, dim=32, dtype=torch.bfloat16)
    query = random_tensor(len(CONTEXTS), 2, 32, dtype=torch.bfloat16)
    together = decode(query, place, 4)
    for row in range(len(CONTEXTS)):
        alone = SimpleNamespace(
            pool=place.pool,
            blocks=place.blocks[row],
            width=place.width,
            contexts=place.contexts[row : row + 1],
        )
        assert torch.equal(decode(query[row : row + 1], alone, 4)[0], together[row])


@pytest.mark.parametrize("factor", [1e-4, 300.0])
def test_large_scores_neither_overflow_nor_vanish(
    random_tensor: RandomTensor, scattered: Scattered, factor: float
) -> None:
    place = scattered(CONTEXTS, block_size=16, num_kv_heads=1, dim=16, dtype=torch.float32)
    query = factor * random_tensor(len(CONTEXTS), 1, 16)
    torch.testing.assert_close(decode(query, place, 4).double(), exact(query, place), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("batch_size", "num_kv_heads", "max_len", "expected"),
    [
        (1, 8, 8192, MAX_SPLITS),
        (1, 8, 100, 2),
        (1, 1, 1, 1),
        (8, 8, 8192, 8),
        (32, 32, 8192, 1),
        (256, 8, 131072, 1),
        (3, 32, 8192, 8),
    ],
)
def test_few_sequences_are_split_to_fill_the_device(
    batch_size: int, num_kv_heads: int, max_len: int, expected: int
) -> None:
    """128 multiprocessors with four programs each."""
    found = choose_num_splits(batch_size, num_kv_heads, max_len, torch.device("cpu"))
    assert found == expected
