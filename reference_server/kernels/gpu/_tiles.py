"""What the attention kernels share: attention of some rows to a stretch of a sequence's tokens, by tiles.

A pool of one layer is ``[blocks, 2, Hkv, block_size, D]``, keys before values: what a block holds of a head
is one piece of memory.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def places(
    table: tl.tensor,
    token: tl.tensor,
    is_stored: tl.tensor,
    head: tl.tensor,
    NUM_KV_HEADS: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    HEAD_DIM: tl.constexpr,
) -> tl.tensor:
    """Elements from the start of a pool to the keys of tokens: int64, as a pool may have more than 2^31."""
    block = tl.load(table + token // BLOCK_SIZE, mask=is_stored, other=0).to(tl.int64)
    in_block = (head * BLOCK_SIZE + token % BLOCK_SIZE) * HEAD_DIM
    return block * (2 * NUM_KV_HEADS * BLOCK_SIZE * HEAD_DIM) + in_block


@triton.jit
def product(left: tl.tensor, right: tl.tensor, IN_FLOAT32: tl.constexpr) -> tl.tensor:
    """A matrix product that is summed in float32."""
    if IN_FLOAT32:
        result = tl.dot(left.to(tl.float32), right.to(tl.float32), input_precision="ieee")
    else:
        result = tl.dot(left, right)
    return result


@triton.jit
def take_in(
    scores: tl.tensor,
    value: tl.tensor,
    best: tl.tensor,
    total: tl.tensor,
    sums: tl.tensor,
    IN_FLOAT32: tl.constexpr,
) -> tl.tensor:
    """Take a tile of scores, in units of log 2, and its values into a softmax.

    Each row must have met a score that is not -inf in this tile or one before: there is no guard.
    """
    new_best = tl.maximum(best, tl.max(scores, axis=1))
    weights = tl.exp2(scores - new_best[:, None])
    shrunk = tl.exp2(best - new_best)
    total = total * shrunk + tl.sum(weights, axis=1)
    sums = sums * shrunk[:, None] + product(weights.to(value.dtype), value, IN_FLOAT32)
    return new_best, total, sums


@triton.jit
def attend_to_tokens(
    q: tl.tensor,
    pool: tl.tensor,
    table: tl.tensor,
    first: tl.tensor,
    end: tl.tensor,
    position: tl.tensor,
    kv_head: tl.tensor,
    scale: tl.tensor,
    NUM_KV_HEADS: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    ROWS: tl.constexpr,
    DIM_PADDED: tl.constexpr,
    TILE: tl.constexpr,
    IN_FLOAT32: tl.constexpr,
) -> tl.tensor:
    """Let rows ``q [ROWS, DIM_PADDED]`` attend to tokens ``first`` to ``end``, up to their own position.

    Each row must see the token ``first``.

    Returns:
        Of each row the best score, in units of log 2, the sum of weights in relation to it, and the sum of
        values by these weights.
    """
    dim, in_tile = tl.arange(0, DIM_PADDED), tl.arange(0, TILE)
    has_dim = dim < HEAD_DIM
    best = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    sums = tl.zeros([ROWS, DIM_PADDED], tl.float32)
    for begin in range(first, end, TILE):
        token = begin + in_tile
        is_stored = token < end
        place = places(table, token, is_stored, kv_head, NUM_KV_HEADS, BLOCK_SIZE, HEAD_DIM)
        across = is_stored[None, :] & has_dim[:, None]
        key = tl.load(pool + place[None, :] + dim[:, None], mask=across, other=0.0)
        is_past = is_stored[None, :] & (token[None, :] <= position[:, None])
        scores = tl.where(is_past, product(q, key, IN_FLOAT32) * scale, float("-inf"))
        along = is_stored[:, None] & has_dim[None, :]
        values = pool + NUM_KV_HEADS * BLOCK_SIZE * HEAD_DIM
        value = tl.load(values + place[:, None] + dim[None, :], mask=along, other=0.0)
        best, total, sums = take_in(scores, value, best, total, sums, IN_FLOAT32)
    return best, total, sums
