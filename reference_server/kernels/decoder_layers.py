"""All layers of a decoder of the Llama family in one call."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from reference_server.kernels.block_linear import BlockLinear, block_linear_twin
from reference_server.kernels.library import INT, POINTER, SIZE, agree
from reference_server.kernels.packed_blocks import BLOCK, pack_blocks
from reference_server.kernels.paged_chunk import paged_chunk_twin
from reference_server.kernels.rms_norm import rms_norm_twin
from reference_server.kernels.rope import rope_twin
from reference_server.kernels.silu_mul import silu_mul_twin

if TYPE_CHECKING:
    import numpy.typing as npt

ARGUMENTS = (POINTER, POINTER, POINTER, INT)


@dataclass(frozen=True, kw_only=True)
class LayerWeights:
    """What one layer is made of; norms are bfloat16, the pool ``[blocks, block_size, 2, Hkv, D]`` too."""

    input_norm: Tensor
    post_attention_norm: Tensor
    qkv: BlockLinear
    output: BlockLinear
    gate_up: BlockLinear
    down: BlockLinear
    pool: Tensor


@dataclass(frozen=True, kw_only=True)
class TokenBatch:
    """T tokens of B sequences, those with one token first.

    Attributes:
        cos: ``[T, 1, D]``.
        sin: Signed: negative for the first half. ``[T, 1, D]``, as far apart as the cosines.
        slots: int64 ``[T]``.
        tables: int64 ``[B, width]``, contiguous.
        contexts: int64 ``[B]``.
        starts: int64 ``[B + 1]``.
        num_decodes: Sequences with one token.
    """

    cos: Tensor
    sin: Tensor
    slots: npt.NDArray[np.int64]
    tables: npt.NDArray[np.int64]
    contexts: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    num_decodes: int


class _Linear(ctypes.Structure):
    _fields_ = (
        ("weight", POINTER),
        ("bias", POINTER),
        ("num_inputs", SIZE),
        ("num_outputs", SIZE),
        ("form", SIZE),
    )


class _Layer(ctypes.Structure):
    _fields_ = (
        ("input_norm", POINTER),
        ("post_attention_norm", POINTER),
        ("qkv", _Linear),
        ("output", _Linear),
        ("gate_up", _Linear),
        ("down", _Linear),
        ("pool", POINTER),
    )


class _Decoder(ctypes.Structure):
    _fields_ = (
        ("layers", POINTER),
        *((name, SIZE) for name in ("num_layers", "hidden", "intermediate", "num_heads", "num_kv_heads")),
        *((name, SIZE) for name in ("dim", "block_size")),
        ("epsilon", ctypes.c_double),
    )


class _Batch(ctypes.Structure):
    _fields_ = (
        *((name, SIZE) for name in ("num_tokens", "num_sequences", "num_decodes", "table_width")),
        ("angle_stride", SIZE),
        *((name, POINTER) for name in ("slots", "tables", "contexts", "starts", "cos", "sin")),
    )


class DecoderLayers:
    """Turns embeddings into hidden states.

    Args:
        functions: The loaded kernels.
        layers: All of one shape.
        num_heads: Query heads.
        epsilon: Of the norms.
    """

    def __init__(
        self, functions: ctypes.CDLL, layers: list[LayerWeights], num_heads: int, epsilon: float
    ) -> None:
        self._function = functions.decoder_layers
        self._kept_alive = layers
        self._layers = (_Layer * len(layers))(*map(_layer, layers))
        first = layers[0]
        _, block_size, _, num_kv_heads, dim = first.pool.shape
        self._decoder = _Decoder(
            ctypes.addressof(self._layers), len(layers), first.input_norm.shape[0],
            first.down.packed.shape[1], num_heads, num_kv_heads, dim, block_size, epsilon,
        )  # fmt: skip

    def __call__(self, residual: Tensor, batch: TokenBatch) -> None:
        """Let ``residual [T, hidden]``, bfloat16 and contiguous, pass all layers, in place."""
        arrays = (batch.slots, batch.tables, batch.contexts, batch.starts)
        described = _Batch(
            residual.shape[0], len(batch.contexts), batch.num_decodes, batch.tables.shape[1],
            batch.cos.stride(0), *(array.ctypes.data for array in arrays),
            batch.cos.data_ptr(), batch.sin.data_ptr(),
        )  # fmt: skip
        failed = self._function(
            ctypes.byref(self._decoder), ctypes.byref(described), residual.data_ptr(), torch.get_num_threads()
        )
        if failed:
            raise MemoryError(f"no memory to compute {residual.shape[0]} tokens")


def _layer(weights: LayerWeights) -> _Layer:
    linears = (weights.qkv, weights.output, weights.gate_up, weights.down)
    return _Layer(
        weights.input_norm.data_ptr(), weights.post_attention_norm.data_ptr(), *map(_linear, linears),
        weights.pool.data_ptr(),
    )  # fmt: skip


def _linear(linear: BlockLinear) -> _Linear:
    num_outputs, num_inputs = linear.packed.shape
    bias = None if linear.bias is None else linear.bias.data_ptr()
    return _Linear(linear.packed.data.data_ptr(), bias, num_inputs, num_outputs, int(linear.packed.form))


def decoder_layers_twin(
    residual: Tensor, layers: list[LayerWeights], num_heads: int, epsilon: float, batch: TokenBatch
) -> None:
    """The same in torch, of few rows."""
    delta: Tensor | None = None
    for layer in layers:
        normed = rms_norm_twin(residual, delta, layer.input_norm, epsilon)
        attended = _attention_twin(normed, layer, num_heads, batch)
        delta = _linear_twin(attended, layer.output)
        normed = rms_norm_twin(residual, delta, layer.post_attention_norm, epsilon)
        delta = _linear_twin(silu_mul_twin(_linear_twin(normed, layer.gate_up)), layer.down)
    if delta is not None:
        residual += delta


def _linear_twin(x: Tensor, linear: BlockLinear) -> Tensor:
    return block_linear_twin(x, linear.packed, linear.bias)


def _attention_twin(normed: Tensor, layer: LayerWeights, num_heads: int, batch: TokenBatch) -> Tensor:
    num_kv_heads, dim = layer.pool.shape[-2:]
    qkv = _linear_twin(normed, layer.qkv).view(len(normed), -1, dim)
    rope_twin(qkv, num_heads + num_kv_heads, batch.cos, batch.sin)
    query, key_value = qkv[:, :num_heads], qkv[:, num_heads:].view(len(normed), 2, num_kv_heads, dim)
    layer.pool.flatten(0, 1)[torch.from_numpy(batch.slots)] = key_value
    outputs = [
        paged_chunk_twin(query[first:last], layer.pool, torch.from_numpy(table), int(context))
        for first, last, table, context in zip(
            batch.starts, batch.starts[1:], batch.tables, batch.contexts, strict=False
        )
    ]
    return torch.cat(outputs).flatten(1)


def agrees(functions: ctypes.CDLL) -> bool:
    """Whether C and torch agree on two layers, a token of one sequence and a chunk of another."""
    generator = torch.Generator().manual_seed(0)
    ours, theirs = (_random_layers(functions, torch.Generator().manual_seed(1)) for _ in range(2))
    angles = torch.randn(4, 2, 1, BLOCK, generator=generator).bfloat16()
    batch = TokenBatch(
        cos=angles[:, 0], sin=angles[:, 1], slots=np.array([6, 8, 9, 10]), tables=np.array([[1, 0], [2, 0]]),
        contexts=np.array([3, 3]), starts=np.array([0, 1, 4]), num_decodes=1,
    )  # fmt: skip
    found = torch.randn(4, BLOCK, generator=generator).bfloat16()
    expected = found.clone()
    DecoderLayers(functions, ours, 2, 1e-5)(found, batch)
    decoder_layers_twin(expected, theirs, 2, 1e-5, batch)
    return agree(found, expected) and agree(ours[1].pool, theirs[1].pool)


def _random_layers(functions: ctypes.CDLL, generator: torch.Generator) -> list[LayerWeights]:
    """Two layers of hidden size 32, two heads of 32 on one of keys, blocks of 4 tokens."""

    def linear(num_outputs: int, num_inputs: int) -> BlockLinear:
        raw = torch.randint(
            0, 256, (num_outputs, num_inputs // BLOCK, 18), generator=generator, dtype=torch.uint8
        )
        raw[..., 0], raw[..., 1] = 0x00, 0x24  # a scale of 1 / 64
        return BlockLinear(functions, pack_blocks(raw.flatten(1), "Q4_0"))

    return [
        LayerWeights(
            input_norm=torch.ones(BLOCK, dtype=torch.bfloat16),
            post_attention_norm=torch.ones(BLOCK, dtype=torch.bfloat16),
            qkv=linear(4 * BLOCK, BLOCK),
            output=linear(BLOCK, 2 * BLOCK),
            gate_up=linear(2 * BLOCK, BLOCK),
            down=linear(BLOCK, BLOCK),
            pool=torch.randn(3, 4, 2, 1, BLOCK, generator=generator).bfloat16(),
        )
        for _ in range(2)
    ]
