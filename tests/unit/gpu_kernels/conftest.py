"""Triton kernels in Triton's interpreter, on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch
from support.triton_interpreter import skip_unless_interpreted

RandomTensor = Callable[..., torch.Tensor]

TOLERANCES = {torch.float32: 2e-5, torch.float16: 2**-10, torch.bfloat16: 2**-7}


@pytest.fixture(autouse=True)
def interpreted() -> None:
    """Skip where the kernels can't be interpreted."""
    skip_unless_interpreted()


@pytest.fixture(scope="session")
def random_tensor() -> RandomTensor:
    """``random_tensor(*shape, dtype=)``: normal numbers that depend on the shape alone."""

    def make(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)

    return make


@pytest.fixture
def scattered(random_tensor: RandomTensor) -> Callable[..., SimpleNamespace]:
    """``scattered(contexts, ...)``: a pool whose tables name blocks in no order; NaN behind each context.

    Block 0 is all NaN: padding of tables names it, and nobody may look at it.
    """

    def make(
        contexts: tuple[int, ...], *, block_size: int, num_kv_heads: int, dim: int, dtype: torch.dtype
    ) -> SimpleNamespace:
        width = -(-max(contexts) // block_size) + 1
        order = torch.randperm(len(contexts) * width, generator=torch.Generator().manual_seed(1))
        tables = (order + 1).view(-1, width)
        pool = random_tensor(tables.numel() + 1, 2, num_kv_heads, block_size, dim, dtype=dtype)
        pool[0] = float("nan")
        for table, context in zip(tables, contexts, strict=True):
            behind = (torch.arange(width * block_size) >= context).view(width, 1, 1, block_size, 1)
            pool[table] = pool[table].masked_fill(behind, float("nan"))
            table[-(-context // block_size) :] = 0
        return SimpleNamespace(
            pool=pool,
            blocks=tables.int(),
            width=torch.tensor([width], dtype=torch.int32),
            contexts=torch.tensor(contexts, dtype=torch.int32),
        )

    return make
