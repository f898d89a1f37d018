"""Blocks of llama.cpp, and dense weights, repacked once so that the lanes of a vector hold 16 outputs.

A tile is 16 outputs by one block of 32 inputs. Its values come first, in groups of 64 bytes with four inputs
of each output; then 16 scales, then 16 minima where there are any, float16 as in the file:

- nibbles (``Q4_1``, ``Q4_0``): byte ``j`` of group ``g`` of an output holds input ``4 g + j`` in its low half
  and input ``16 + 4 g + j`` in its high half, as in the file. A weight is ``scale x nibble + minimum``.
- bytes (``Q8_0``): byte ``j`` of group ``g`` holds input ``4 g + j``, plus 128. A weight is
  ``scale x (byte - 128)``.
- pairs (bfloat16): a group holds two inputs of each output, which are weights as they are; no scales follow.
- channels (8 bits with a scale for each output): values as in bytes, of all inputs and of zeros up to a
  multiple of 64; then 16 scales, float32. A weight is ``scale x (byte - 128)``.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.kernels.arena import Arena

BLOCK = 32
TILE = 16
STEP = 64
"""Inputs in channels come in so many."""
_BYTE_ZERO = 128


class Form(enum.IntEnum):
    """How a tile holds its values; the numbers are those of the C side."""

    NIBBLES = 0
    BYTES = 1
    PAIRS = 2
    CHANNELS = 3


@dataclass(frozen=True)
class PackedBlocks:
    """A weight matrix in tiles.

    Attributes:
        data: uint8 ``[tiles, blocks, bytes of a tile]``; of channels ``[tiles, bytes of a strip]``.
        form: Of its values.
        shape: ``(outputs, inputs)``; outputs of the last tile beyond it are zeros.
    """

    data: Tensor
    form: Form
    shape: tuple[int, int]

    def placed_in(self, arena: Arena) -> PackedBlocks:
        """The same matrix, its data copied into an arena."""
        return replace(self, data=arena.place(self.data))


def pack_blocks(raw: Tensor, stored_type: str) -> PackedBlocks:
    """Pack rows ``raw [outputs, bytes of a row]``, uint8, of a type in :data:`PACKABLE`."""
    form, block_bytes, pack = _PACKERS[stored_type]
    num_outputs, num_blocks = raw.shape[0], raw.shape[1] // block_bytes
    rows = torch.nn.functional.pad(raw, (0, 0, 0, -num_outputs % TILE))
    blocks = rows.view(-1, TILE, num_blocks, block_bytes).transpose(1, 2)
    return PackedBlocks(pack(blocks), form, (num_outputs, num_blocks * BLOCK))


def pack_dense(weight: Tensor) -> PackedBlocks:
    """Pack ``weight [outputs, inputs]``, bfloat16, whose inputs are whole blocks."""
    num_outputs, num_inputs = weight.shape
    rows = torch.nn.functional.pad(weight, (0, 0, 0, -num_outputs % TILE))
    pairs = rows.view(-1, TILE, num_inputs // BLOCK, BLOCK // 2, 2).permute(0, 2, 3, 1, 4)
    return PackedBlocks(
        pairs.contiguous().view(torch.uint8).flatten(2), Form.PAIRS, (num_outputs, num_inputs)
    )


def pack_channels(values: Tensor, scales: Tensor) -> PackedBlocks:
    """Pack int8 ``values [outputs, inputs]`` with ``scales [outputs, 1]``, float32."""
    num_outputs, num_inputs = values.shape
    rows = torch.nn.functional.pad(values, (0, -num_inputs % STEP, 0, -num_outputs % TILE))
    words = rows.view(torch.uint8).bitwise_xor(_BYTE_ZERO).view(-1, TILE, rows.shape[1])
    strips = _interleave(words[:, None]).flatten(1)
    tail = torch.nn.functional.pad(scales.float().flatten(), (0, -num_outputs % TILE)).view(-1, TILE)
    data = torch.cat([strips, tail.contiguous().view(torch.uint8)], dim=1)
    return PackedBlocks(data, Form.CHANNELS, (num_outputs, num_inputs))


def unpack_blocks(packed: PackedBlocks) -> Tensor:
    """The matrix in float32, ``[outputs, inputs]``."""
    if packed.form is Form.PAIRS:
        return _unpack_dense(packed)
    if packed.form is Form.CHANNELS:
        return _unpack_channels(packed)
    num_values = TILE * BLOCK // (2 if packed.form is Form.NIBBLES else 1)
    tiles, blocks, _ = packed.data.shape
    groups = packed.data[..., :num_values].reshape(tiles, blocks, -1, TILE, 4).transpose(2, 3)
    values = groups.reshape(tiles, blocks, TILE, -1).float()
    halves = packed.data[..., num_values:].contiguous().view(torch.float16).float()
    scales = halves[..., :TILE, None]
    if packed.form is Form.NIBBLES:
        high = (values / 16).floor()
        values = torch.cat([values - 16 * high, high], dim=-1)
        dense = scales * values + halves[..., TILE:, None]
    else:
        dense = scales * (values - _BYTE_ZERO)
    return dense.transpose(1, 2).reshape(tiles * TILE, -1)[: packed.shape[0]]


def _unpack_dense(packed: PackedBlocks) -> Tensor:
    tiles, blocks, _ = packed.data.shape
    pairs = packed.data.view(torch.bfloat16).view(tiles, blocks, BLOCK // 2, TILE, 2)
    return pairs.permute(0, 3, 1, 2, 4).reshape(tiles * TILE, -1)[: packed.shape[0]].float()


def _unpack_channels(packed: PackedBlocks) -> Tensor:
    num_outputs, num_inputs = packed.shape
    strips, tail = packed.data[:, : -4 * TILE], packed.data[:, -4 * TILE :].contiguous()
    values = strips.reshape(len(strips), -1, TILE, 4).transpose(1, 2).flatten(2)[..., :num_inputs].float()
    dense = (values - _BYTE_ZERO) * tail.view(torch.float32)[..., None]
    return dense.flatten(0, 1)[:num_outputs]


def _interleave(values: Tensor) -> Tensor:
    """``[tiles, blocks, 16, n]`` bytes in groups of four: ``[tiles, blocks, 16 n]``."""
    words = values.contiguous().view(torch.int32)
    return words.transpose(2, 3).contiguous().view(torch.uint8).flatten(2)


def _pack_q4_1(blocks: Tensor) -> Tensor:
    scales, minima = blocks[..., 0:2].flatten(2), blocks[..., 2:4].flatten(2)
    return torch.cat([_interleave(blocks[..., 4:]), scales, minima], dim=-1)


def _pack_q4_0(blocks: Tensor) -> Tensor:
    """``scale x (nibble - 8)``: the minimum is ``-8 x scale``, exact in float16."""
    scales = blocks[..., 0:2].flatten(2)
    minima = (scales.contiguous().view(torch.float16) * -8).view(torch.uint8)
    return torch.cat([_interleave(blocks[..., 2:]), scales, minima], dim=-1)


def _pack_q8_0(blocks: Tensor) -> Tensor:
    scales = blocks[..., 0:2].flatten(2)
    return torch.cat([_interleave(blocks[..., 2:] ^ _BYTE_ZERO), scales], dim=-1)


_PACKERS: dict[str, tuple[Form, int, Callable[[Tensor], Tensor]]] = {
    "Q4_0": (Form.NIBBLES, 18, _pack_q4_0),
    "Q4_1": (Form.NIBBLES, 20, _pack_q4_1),
    "Q8_0": (Form.BYTES, 34, _pack_q8_0),
}

PACKABLE = frozenset(_PACKERS)
"""Names of llama.cpp's types that can be packed."""
