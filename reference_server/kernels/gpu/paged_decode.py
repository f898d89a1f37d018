"""Attention of one new token per sequence, straight over the block table.

A sequence is split, so that a few long ones fill the device too. Each split is a program, which reads its
keys and values once for all query heads of their group; a second kernel merges the splits. How a sequence is
split depends on its own length and on the number of splits, never on its neighbours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl
from torch.nn.functional import scaled_dot_product_attention

from reference_server.kernels.gpu._launch import (
    agree,
    multiplies_float32,
    num_multiprocessors,
    padded,
    random_tensor,
)
from reference_server.kernels.gpu._tiles import attend_to_tokens

if TYPE_CHECKING:
    from torch import Tensor

TILE = 64
"""Tokens that a program looks at together: no split is shorter."""

MAX_SPLITS = 64
_PROGRAMS_PER_MULTIPROCESSOR = 4
_LEAST_ROWS = 16  # of a matrix product


@triton.jit
def split_length(context: tl.tensor, NUM_SPLITS: tl.constexpr, TILE: tl.constexpr) -> tl.tensor:
    """Tokens of each split but the last, whole tiles; later splits may have none."""
    return tl.cdiv(tl.cdiv(context, NUM_SPLITS), TILE) * TILE


@triton.jit
def attend_to_split(
    query: tl.tensor,
    pool: tl.tensor,
    tables: tl.tensor,
    table_width: tl.tensor,
    contexts: tl.tensor,
    split_outputs: tl.tensor,
    split_logs: tl.tensor,
    scale: tl.tensor,
    query_stride: tl.tensor,
    NUM_KV_HEADS: tl.constexpr,
    GROUP: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    NUM_SPLITS: tl.constexpr,
    ROWS: tl.constexpr,
    DIM_PADDED: tl.constexpr,
    TILE: tl.constexpr,
    IN_FLOAT32: tl.constexpr,
) -> None:
    """The query heads of one key head of a sequence, over one split of its tokens."""
    sequence, kv_head, split = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    context = tl.load(contexts + sequence)
    length = split_length(context, NUM_SPLITS, TILE)
    first = split * length
    if first >= context:
        return
    end = tl.minimum(first + length, context)
    row, dim = tl.arange(0, ROWS), tl.arange(0, DIM_PADDED)
    head = kv_head * GROUP + row
    has_value = (row < GROUP)[:, None] & (dim < HEAD_DIM)[None, :]
    q_place = query + sequence.to(tl.int64) * query_stride + head[:, None] * HEAD_DIM + dim[None, :]
    q = tl.load(q_place, mask=has_value, other=0.0)
    table = tables + sequence * tl.load(table_width)
    sees_all = tl.zeros([ROWS], tl.int32) + end
    best, total, sums = attend_to_tokens(
        q, pool, table, first, end, sees_all, kv_head, scale,
        NUM_KV_HEADS, HEAD_DIM, BLOCK_SIZE, ROWS, DIM_PADDED, TILE, IN_FLOAT32,
    )  # fmt: skip
    part = (sequence.to(tl.int64) * (NUM_KV_HEADS * GROUP) + head) * NUM_SPLITS + split
    tl.store(split_outputs + part[:, None] * HEAD_DIM + dim[None, :], sums / total[:, None], mask=has_value)
    tl.store(split_logs + part, best + tl.log2(total), mask=row < GROUP)


@triton.jit
def merge_splits(
    split_outputs: tl.tensor,
    split_logs: tl.tensor,
    contexts: tl.tensor,
    output: tl.tensor,
    HEAD_DIM: tl.constexpr,
    NUM_SPLITS: tl.constexpr,
    DIM_PADDED: tl.constexpr,
    TILE: tl.constexpr,
) -> None:
    """One head of a sequence: its splits, weighted by what their scores sum up to."""
    sequence, head, num_heads = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    context = tl.load(contexts + sequence)
    length = split_length(context, NUM_SPLITS, TILE)
    split, dim = tl.arange(0, NUM_SPLITS), tl.arange(0, DIM_PADDED)
    was_computed, has_dim = split * length < context, dim < HEAD_DIM
    part = (sequence.to(tl.int64) * num_heads + head) * NUM_SPLITS + split
    logs = tl.load(split_logs + part, mask=was_computed, other=float("-inf"))
    weights = tl.exp2(logs - tl.max(logs, axis=0))
    mask = was_computed[:, None] & has_dim[None, :]
    outputs = tl.load(split_outputs + part[:, None] * HEAD_DIM + dim[None, :], mask=mask, other=0.0)
    merged = tl.sum(outputs * weights[:, None], axis=0) / tl.sum(weights, axis=0)
    place = output + (sequence.to(tl.int64) * num_heads + head) * HEAD_DIM + dim
    tl.store(place, merged.to(output.dtype.element_ty), mask=has_dim)


@dataclass(frozen=True)
class Tables:
    """Where the tokens of sequences lie, on the device; a graph that reads them sees what is written later.

    Attributes:
        blocks: int32, the blocks of the first sequence, padded to ``width``, then those of the next.
        width: int32 ``[1]``.
        contexts: int32 ``[B]``, tokens of each sequence, at least 1.
    """

    blocks: Tensor
    width: Tensor
    contexts: Tensor


def choose_num_splits(batch_size: int, num_kv_heads: int, max_len: int, device: torch.device) -> int:
    """Splits of a sequence that fill the device: a power of two, at most one for each tile."""
    wanted = _PROGRAMS_PER_MULTIPROCESSOR * num_multiprocessors(device) // (batch_size * num_kv_heads)
    return padded(min(max(wanted, 1), MAX_SPLITS, -(-max_len // TILE)))


def paged_decode(query: Tensor, pool: Tensor, tables: Tables, output: Tensor, num_splits: int) -> None:
    """Let each query attend to the tokens of its sequence.

    Args:
        query: ``[B, H, D]``; rows may lie apart, heads may not.
        pool: ``[blocks, 2, Hkv, block_size, D]``.
        tables: Of the B sequences.
        output: ``[B, H, D]``, contiguous, is written.
        num_splits: A power of two.
    """
    batch_size, num_heads, dim = query.shape
    parts = torch.empty(batch_size, num_heads, num_splits, dim, dtype=torch.float32, device=query.device)
    logs = torch.empty(batch_size, num_heads, num_splits, dtype=torch.float32, device=query.device)
    _attend(query, pool, tables, parts, logs)
    merge_splits[(batch_size, num_heads)](
        parts,
        logs,
        tables.contexts,
        output,
        HEAD_DIM=dim,
        NUM_SPLITS=num_splits,
        DIM_PADDED=padded(dim, 16),
        TILE=TILE,
        num_warps=2,
    )


def _attend(query: Tensor, pool: Tensor, tables: Tables, parts: Tensor, logs: Tensor) -> None:
    """Each split by itself, into ``parts [B, H, splits, D]`` and ``logs [B, H, splits]``."""
    batch_size, num_heads, num_splits, dim = parts.shape
    num_kv_heads, block_size = pool.shape[2:4]
    group = num_heads // num_kv_heads
    attend_to_split[(batch_size, num_kv_heads, num_splits)](
        query,
        pool,
        tables.blocks,
        tables.width,
        tables.contexts,
        parts,
        logs,
        dim**-0.5 * math.log2(math.e),
        query.stride(0),
        NUM_KV_HEADS=num_kv_heads,
        GROUP=group,
        HEAD_DIM=dim,
        BLOCK_SIZE=block_size,
        NUM_SPLITS=num_splits,
        ROWS=padded(group, _LEAST_ROWS),
        DIM_PADDED=padded(dim, 16),
        TILE=TILE,
        IN_FLOAT32=multiplies_float32(query.dtype, query.device),
        num_warps=4,
        num_stages=2,
    )


def paged_attention_twin(query: Tensor, pool: Tensor, table: Tensor, context: int) -> Tensor:
    """The same in torch for the last Q tokens of one sequence: ``query [Q, H, D]``, ``table [width]``."""
    group, num_queries = query.shape[1] // pool.shape[2], query.shape[0]
    stored = pool[table.long()].permute(1, 2, 0, 3, 4).flatten(2, 3)[:, :, :context]
    key, value = stored.repeat_interleave(group, dim=1)
    position = torch.arange(context - num_queries, context, device=query.device)
    sees = torch.arange(context, device=query.device)[None, :] <= position[:, None]
    return scaled_dot_product_attention(query.transpose(0, 1), key, value, attn_mask=sees).transpose(0, 1)


def agrees(device: torch.device) -> bool:
    """Whether Triton and torch agree on a short sequence and one of several splits."""
    query, pool = random_tensor(2, 4, 32, device=device), random_tensor(31, 2, 2, 8, 32, device=device)
    blocks = torch.arange(1, 31).flip(0).view(2, 15).to(device, torch.int32)
    contexts = torch.tensor([3, 117], dtype=torch.int32, device=device)
    output = torch.empty_like(query)
    width = torch.tensor([15], dtype=torch.int32, device=device)
    paged_decode(query, pool, Tables(blocks, width, contexts), output, num_splits=2)
    expected = [
        paged_attention_twin(query[row : row + 1], pool, blocks[row], context)
        for row, context in enumerate((3, 117))
    ]
    return agree(output, torch.cat(expected))
