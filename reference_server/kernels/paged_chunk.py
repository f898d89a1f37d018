"""Attention of several new tokens of one sequence, over a KV pool in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from reference_server.kernels.library import INT, POINTER, SIZE, agree, kernel

if TYPE_CHECKING:
    import ctypes

ARGUMENTS = (POINTER,) * 4 + (SIZE,) * 7 + (INT, INT)
_DIM_UNIT = 32


def chunk_functions(pool: Tensor) -> ctypes.CDLL | None:
    """The C functions, if they can attend to ``pool [blocks, block_size, 2, Hkv, D]``."""
    return kernel(pool) if pool.shape[-1] % _DIM_UNIT == 0 else None


def paged_chunk(
    functions: ctypes.CDLL,
    query: Tensor,
    pool: Tensor,
    table: Tensor,
    context: int,
    *,
    use_matrix_unit: bool = True,
) -> Tensor:
    """Let each query attend to its sequence up to and including its own position: ``[Q, H, D]``.

    Args:
        functions: What :func:`chunk_functions` returned for this pool.
        query: The sequence's last Q tokens, ``[Q, H, D]`` bfloat16; rows may lie apart.
        pool: ``[blocks, block_size, 2, Hkv, D]``, keys before values.
        table: int64 ``[width]``, contiguous: the blocks of the sequence.
        context: Its tokens, at least Q.
        use_matrix_unit: Let AMX multiply where there is any.
    """
    if query.stride()[1:] != (query.shape[2], 1):
        query = query.contiguous()
    num_queries, num_heads, dim = query.shape
    _, block_size, _, num_kv_heads, _ = pool.shape
    output = torch.empty(num_queries, num_heads, dim, dtype=query.dtype)
    failed = functions.paged_chunk(
        query.data_ptr(), pool.data_ptr(), table.data_ptr(), output.data_ptr(), query.stride(0), num_queries,
        context, block_size, num_heads, num_kv_heads, dim, use_matrix_unit, torch.get_num_threads(),
    )  # fmt: skip
    if failed:
        raise MemoryError(f"no memory to attend from {num_queries} tokens")
    return output


def paged_chunk_twin(query: Tensor, pool: Tensor, table: Tensor, context: int) -> Tensor:
    """The same in torch."""
    num_queries, group = query.shape[0], query.shape[1] // pool.shape[3]
    blocks = table[: -(-context // pool.shape[1])]
    stored = pool[blocks].flatten(0, 1)[:context]
    key, value = stored.permute(1, 2, 0, 3).repeat_interleave(group, dim=1)
    positions = torch.arange(context - num_queries, context)[:, None]
    mask = torch.arange(context)[None, :] <= positions
    return scaled_dot_product_attention(query.transpose(0, 1), key, value, attn_mask=mask).transpose(0, 1)


def agrees(functions: ctypes.CDLL) -> bool:
    """Whether C and torch agree on five tokens that end within a block, with the matrix unit and without."""
    generator = torch.Generator().manual_seed(0)
    query = torch.randn(5, 4, _DIM_UNIT, generator=generator).bfloat16()
    pool = torch.randn(6, 4, 2, 2, _DIM_UNIT, generator=generator).bfloat16()
    table, context = torch.tensor([3, 1, 5, 2]), 14
    expected = paged_chunk_twin(query.float(), pool.float(), table, context)
    return all(
        agree(paged_chunk(functions, query, pool, table, context, use_matrix_unit=use), expected)
        for use in (True, False)
    )
