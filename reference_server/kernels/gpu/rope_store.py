"""Rotate queries in place; rotate keys on their way into the pool, and store the values beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from reference_server.kernels.gpu._launch import agree, padded, random_tensor
from reference_server.kernels.rope import rope_twin

if TYPE_CHECKING:
    from torch import Tensor

_HEADS = 8  # of a program


@triton.jit
def rotate_and_store(
    qkv: tl.tensor,
    cos: tl.tensor,
    sin: tl.tensor,
    pool: tl.tensor,
    slots: tl.tensor,
    qkv_stride: tl.tensor,
    angle_stride: tl.tensor,
    NUM_HEADS: tl.constexpr,
    NUM_KV_HEADS: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    HALF_PADDED: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    HEADS: tl.constexpr,
) -> None:
    """Some heads of a token, by halves."""
    HALF: tl.constexpr = HEAD_DIM // 2
    token = tl.program_id(0).to(tl.int64)
    head, dim = tl.program_id(1) * HEADS + tl.arange(0, HEADS), tl.arange(0, HALF_PADDED)
    has_dim = dim < HALF
    inside = (head < NUM_HEADS + 2 * NUM_KV_HEADS)[:, None] & has_dim[None, :]
    place = qkv + token * qkv_stride + head[:, None] * HEAD_DIM + dim[None, :]
    left, right = tl.load(place, mask=inside, other=0.0), tl.load(place + HALF, mask=inside, other=0.0)
    angle = token * angle_stride + dim
    cos_left = tl.load(cos + angle, mask=has_dim, other=0.0).to(tl.float32)[None, :]
    cos_right = tl.load(cos + angle + HALF, mask=has_dim, other=0.0).to(tl.float32)[None, :]
    sin_left = tl.load(sin + angle, mask=has_dim, other=0.0).to(tl.float32)[None, :]
    sin_right = tl.load(sin + angle + HALF, mask=has_dim, other=0.0).to(tl.float32)[None, :]
    wide_left, wide_right = left.to(tl.float32), right.to(tl.float32)
    is_rotated = (head < NUM_HEADS + NUM_KV_HEADS)[:, None]
    new_left = tl.where(is_rotated, wide_left * cos_left + wide_right * sin_left, wide_left).to(left.dtype)
    new_right = tl.where(is_rotated, wide_right * cos_right + wide_left * sin_right, wide_right).to(
        left.dtype
    )
    is_query = (head < NUM_HEADS)[:, None]
    tl.store(place, new_left, mask=inside & is_query)
    tl.store(place + HALF, new_right, mask=inside & is_query)
    slot = tl.load(slots + token).to(tl.int64)
    in_block = ((head - NUM_HEADS) * BLOCK_SIZE + (slot % BLOCK_SIZE)) * HEAD_DIM
    block = pool + (slot // BLOCK_SIZE) * (2 * NUM_KV_HEADS * BLOCK_SIZE * HEAD_DIM)
    stored = block + in_block[:, None] + dim[None, :]
    is_stored = inside & (head >= NUM_HEADS)[:, None]
    tl.store(stored, new_left, mask=is_stored)
    tl.store(stored + HALF, new_right, mask=is_stored)


def rope_store(qkv: Tensor, cos: Tensor, sin: Tensor, pool: Tensor, slots: Tensor) -> None:
    """Rotate the queries of ``qkv`` in place and put its keys, rotated, and values into the pool.

    Args:
        qkv: ``[T, H + 2 Hkv, D]``: query heads, key heads, value heads; rows may lie apart.
        cos: ``[T, 1, D]``; rows may lie apart.
        sin: Signed: negative for the first half. As far apart as the cosines.
        pool: ``[blocks, 2, Hkv, block_size, D]``.
        slots: int32 ``[T]``: block x block_size + offset.
    """
    num_tokens, num_all, dim = qkv.shape
    num_kv_heads, block_size = pool.shape[2:4]
    if num_tokens == 0:
        return
    rotate_and_store[(num_tokens, -(-num_all // _HEADS))](
        qkv,
        cos,
        sin,
        pool,
        slots,
        qkv.stride(0),
        cos.stride(0),
        NUM_HEADS=num_all - 2 * num_kv_heads,
        NUM_KV_HEADS=num_kv_heads,
        HEAD_DIM=dim,
        HALF_PADDED=padded(dim // 2),
        BLOCK_SIZE=block_size,
        HEADS=_HEADS,
        num_warps=2,
    )


def rope_store_twin(qkv: Tensor, cos: Tensor, sin: Tensor, pool: Tensor, slots: Tensor) -> None:
    """The same in torch."""
    num_kv_heads = pool.shape[2]
    rope_twin(qkv, qkv.shape[1] - num_kv_heads, cos, sin)
    key, value = qkv[:, -2 * num_kv_heads :].chunk(2, dim=1)
    store_twin(key, value, pool, slots)


def store_twin(key: Tensor, value: Tensor, pool: Tensor, slots: Tensor) -> None:
    """Put ``key`` and ``value [T, Hkv, D]`` into the pool."""
    block_size = pool.shape[3]
    pool[slots // block_size, :, :, slots % block_size] = torch.stack([key, value], dim=1)


def agrees(device: torch.device) -> bool:
    """Whether Triton and torch agree on two tokens."""
    ours, pool = random_tensor(2, 10, 24, device=device), random_tensor(4, 2, 3, 8, 24, device=device)
    theirs, their_pool = ours.clone(), pool.clone()
    cos, sin = random_tensor(2, 2, 1, 24, device=device).unbind(dim=1)
    slots = torch.tensor([9, 30], dtype=torch.int32, device=device)
    rope_store(ours, cos, sin, pool, slots)
    rope_store_twin(theirs, cos, sin, their_pool, slots)
    return agree(ours[:, :4], theirs[:, :4]) and agree(pool, their_pool)
