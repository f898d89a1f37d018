"""Attention of one new token per sequence, over a KV pool in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from reference_server.kernels.library import INT, POINTER, SIZE, agree, kernel

if TYPE_CHECKING:
    import ctypes

ARGUMENTS = (POINTER, POINTER, POINTER, POINTER, POINTER, SIZE, SIZE, SIZE, SIZE, SIZE, SIZE, SIZE, INT)
_DIM_UNIT = 32


def decode_functions(pool: Tensor) -> ctypes.CDLL | None:
    """The C functions, if they can attend to ``pool [blocks, block_size, 2, Hkv, D]``."""
    return kernel(pool) if pool.shape[-1] % _DIM_UNIT == 0 else None


def paged_decode(
    functions: ctypes.CDLL, query: Tensor, pool: Tensor, tables: Tensor, contexts: Tensor
) -> Tensor:
    """Let each query attend to the first tokens of its sequence: ``[B, H, D]``.

    Args:
        functions: What :func:`decode_functions` returned for this pool.
        query: ``[B, H, D]`` bfloat16; rows may lie apart.
        pool: ``[blocks, block_size, 2, Hkv, D]``, keys before values.
        tables: int64 ``[B, width]``, contiguous: the blocks of each sequence.
        contexts: int64 ``[B]``, contiguous: tokens of each, at least 1.
    """
    if query.stride()[1:] != (query.shape[2], 1):
        query = query.contiguous()
    batch_size, num_heads, dim = query.shape
    _, block_size, _, num_kv_heads, _ = pool.shape
    output = torch.empty(batch_size, num_heads, dim, dtype=query.dtype)
    failed = functions.paged_decode(
        query.data_ptr(), pool.data_ptr(), tables.data_ptr(), contexts.data_ptr(), output.data_ptr(),
        query.stride(0), batch_size, tables.shape[1], block_size, num_heads, num_kv_heads, dim,
        torch.get_num_threads(),
    )  # fmt: skip
    if failed:
        raise MemoryError(f"no memory for the scores of {batch_size} sequences")
    return output


def paged_decode_twin(query: Tensor, pool: Tensor, tables: Tensor, contexts: Tensor) -> Tensor:
    """The same in torch, one sequence after the other."""
    group = query.shape[1] // pool.shape[3]
    outputs = []
    for row, context in enumerate(contexts.tolist()):
        key, value = pool[tables[row]].flatten(0, 1)[:context].permute(1, 2, 0, 3).repeat_interleave(group, 1)
        outputs.append(scaled_dot_product_attention(query[row][:, None], key, value)[:, 0])
    return torch.stack(outputs)


def agrees(functions: ctypes.CDLL) -> bool:
    """Whether C and torch agree on two sequences, one of which ends within a block."""
    generator = torch.Generator().manual_seed(0)
    query = torch.randn(2, 4, _DIM_UNIT, generator=generator).bfloat16()
    pool = torch.randn(6, 4, 2, 2, _DIM_UNIT, generator=generator).bfloat16()
    tables, contexts = torch.tensor([[3, 1, 0], [2, 5, 4]]), torch.tensor([7, 12])
    found = paged_decode(functions, query, pool, tables, contexts)
    return agree(found, paged_decode_twin(query, pool, tables, contexts))
