"""Attention of chunks of prompts, straight over the block table.

A program is one head of up to 64 queries of one sequence, which looks at the sequence's tokens, cached ones
among them, up to its last query.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
import triton
import triton.language as tl

from reference_server.kernels.gpu._launch import agree, multiplies_float32, padded, random_tensor
from reference_server.kernels.gpu._tiles import attend_to_tokens
from reference_server.kernels.gpu.paged_decode import Tables, paged_attention_twin

if TYPE_CHECKING:
    import numpy.typing as npt
    from torch import Tensor

ROWS = 64
"""Queries of a program."""

_TILE, _TILE_FLOAT32 = 64, 32


@triton.jit
def attend_to_past(
    query: tl.tensor,
    pool: tl.tensor,
    tables: tl.tensor,
    table_width: tl.tensor,
    contexts: tl.tensor,
    query_starts: tl.tensor,
    program_sequences: tl.tensor,
    program_firsts: tl.tensor,
    output: tl.tensor,
    scale: tl.tensor,
    query_stride: tl.tensor,
    NUM_HEADS: tl.constexpr,
    NUM_KV_HEADS: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    ROWS: tl.constexpr,
    DIM_PADDED: tl.constexpr,
    TILE: tl.constexpr,
    IN_FLOAT32: tl.constexpr,
) -> None:
    """One head of ``ROWS`` queries."""
    program, head = tl.program_id(0), tl.program_id(1)
    sequence = tl.load(program_sequences + program)
    first = tl.load(program_firsts + program)
    start, context = tl.load(query_starts + sequence), tl.load(contexts + sequence)
    num_queries = tl.load(query_starts + sequence + 1) - start
    row, dim = first + tl.arange(0, ROWS), tl.arange(0, DIM_PADDED)
    position = context - num_queries + row
    end = tl.minimum(context, context - num_queries + first + ROWS)
    has_value = (row < num_queries)[:, None] & (dim < HEAD_DIM)[None, :]
    token_row = (start + row).to(tl.int64)
    q_place = query + token_row[:, None] * query_stride + head * HEAD_DIM + dim[None, :]
    q = tl.load(q_place, mask=has_value, other=0.0)
    table = tables + sequence * tl.load(table_width)
    kv_head = head // (NUM_HEADS // NUM_KV_HEADS)
    _, total, sums = attend_to_tokens(
        q, pool, table, 0, end, position, kv_head, scale,
        NUM_KV_HEADS, HEAD_DIM, BLOCK_SIZE, ROWS, DIM_PADDED, TILE, IN_FLOAT32,
    )  # fmt: skip
    place = output + (token_row[:, None] * NUM_HEADS + head) * HEAD_DIM + dim[None, :]
    tl.store(place, (sums / total[:, None]).to(output.dtype.element_ty), mask=has_value)


@dataclass(frozen=True)
class Chunks:
    """Which queries each program has, on the device.

    Attributes:
        query_starts: int32 ``[B + 1]``, where each sequence's queries begin among all.
        sequences: int32 ``[programs]``.
        firsts: int32 ``[programs]``, the first query, counted within its sequence.
    """

    query_starts: Tensor
    sequences: Tensor
    firsts: Tensor


def split_into_programs(
    query_starts: npt.NDArray[np.int64], num_skipped: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Sequence and first query of each program, for all sequences but the first ``num_skipped``."""
    counts = np.diff(query_starts)[num_skipped:]
    num_programs = -(-counts // ROWS)
    sequences = np.repeat(np.arange(len(counts)), num_programs)
    before = np.cumsum(num_programs) - num_programs
    firsts = (np.arange(num_programs.sum()) - before[sequences]) * ROWS
    return sequences + num_skipped, firsts


def paged_prefill(query: Tensor, pool: Tensor, tables: Tables, chunks: Chunks, output: Tensor) -> None:
    """Let queries attend to the tokens of their sequence up to their own.

    Args:
        query: ``[T, H, D]``; rows may lie apart, heads may not.
        pool: ``[blocks, 2, Hkv, block_size, D]``.
        tables: Of all B sequences.
        chunks: The programs; rows of other sequences are left alone.
        output: ``[T, H, D]``, contiguous, is written.
    """
    _, num_heads, dim = query.shape
    num_kv_heads, block_size = pool.shape[2:4]
    in_float32 = multiplies_float32(query.dtype, query.device)
    attend_to_past[(chunks.sequences.shape[0], num_heads)](
        query,
        pool,
        tables.blocks,
        tables.width,
        tables.contexts,
        chunks.query_starts,
        chunks.sequences,
        chunks.firsts,
        output,
        dim**-0.5 * math.log2(math.e),
        query.stride(0),
        NUM_HEADS=num_heads,
        NUM_KV_HEADS=num_kv_heads,
        HEAD_DIM=dim,
        BLOCK_SIZE=block_size,
        ROWS=ROWS,
        DIM_PADDED=padded(dim, 16),
        TILE=_TILE_FLOAT32 if in_float32 else _TILE,
        IN_FLOAT32=in_float32,
        num_warps=4,
        num_stages=2,
    )


def agrees(device: torch.device) -> bool:
    """Whether Triton and torch agree on a chunk behind cached tokens, after one that is left alone."""
    query, pool = random_tensor(71, 4, 32, device=device), random_tensor(31, 2, 2, 8, 32, device=device)
    blocks = torch.arange(1, 31).flip(0).view(2, 15).to(device, torch.int32)
    contexts = torch.tensor([3, 101], dtype=torch.int32, device=device)
    starts = np.array([0, 1, 71])
    arrays = (starts, *split_into_programs(starts, num_skipped=1))
    chunks = Chunks(*(torch.from_numpy(array).to(device, torch.int32) for array in arrays))
    output = torch.zeros_like(query)
    width = torch.tensor([15], dtype=torch.int32, device=device)
    paged_prefill(query, pool, Tables(blocks, width, contexts), chunks, output)
    expected = paged_attention_twin(query[1:], pool, blocks[1], 101)
    return agree(output[1:], expected) and not bool(output[0].any())
