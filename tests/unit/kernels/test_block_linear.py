"""Linear layers on packed blocks, against torch on what the ``gguf`` library makes of the same bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from gguf.constants import GGMLQuantizationType
from gguf.quants import dequantize, quantize

from reference_server.kernels.arena import Arena
from reference_server.kernels.block_linear import (
    BlockLinear,
    block_linear_twin,
    matrix_unit_twin,
    quantize_rows,
)
from reference_server.kernels.packed_blocks import (
    PACKABLE,
    PackedBlocks,
    pack_blocks,
    pack_dense,
    unpack_blocks,
)

if TYPE_CHECKING:
    import ctypes

TYPES = sorted(PACKABLE)


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def packed(weight: torch.Tensor, stored_type: str) -> tuple[PackedBlocks, torch.Tensor]:
    """The blocks of a matrix, and what they mean in float32."""
    kind = GGMLQuantizationType[stored_type]
    raw = quantize(weight.numpy(), kind)
    return pack_blocks(torch.from_numpy(raw), stored_type), torch.from_numpy(dequantize(raw, kind))


@pytest.mark.parametrize("stored_type", TYPES)
@pytest.mark.parametrize("num_outputs", [1, 16, 40])
def test_unpacked_blocks_are_those_of_the_file(stored_type: str, num_outputs: int) -> None:
    blocks, dense = packed(random(num_outputs, 96), stored_type)
    torch.testing.assert_close(unpack_blocks(blocks), dense, rtol=0, atol=0)


@pytest.mark.parametrize("stored_type", TYPES)
@pytest.mark.parametrize(
    ("num_rows", "num_inputs", "num_outputs"),
    [(1, 32, 1), (1, 576, 960), (2, 64, 17), (3, 1536, 33), (5, 96, 16), (15, 64, 31), (37, 160, 72)],
)
@pytest.mark.parametrize("has_bias", [False, True])
def test_c_multiplies_as_torch_does(
    functions: ctypes.CDLL, stored_type: str, num_rows: int, num_inputs: int, num_outputs: int, has_bias: bool
) -> None:
    blocks, dense = packed(random(num_outputs, num_inputs), stored_type)
    x, bias = random(num_rows, num_inputs), random(num_outputs) if has_bias else None
    exact = quantize_rows(x) @ dense.T + (0 if bias is None else bias)
    found = BlockLinear(functions, blocks, bias)(x)
    torch.testing.assert_close(found, exact, rtol=1e-4, atol=1e-4 * num_inputs**0.5)
    torch.testing.assert_close(block_linear_twin(x, blocks, bias), exact, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("stored_type", TYPES)
def test_bfloat16_in_and_out_is_the_float32_result_rounded(functions: ctypes.CDLL, stored_type: str) -> None:
    blocks, _ = packed(random(48, 64), stored_type)
    x = random(6, 64).bfloat16()
    layer = BlockLinear(functions, blocks, random(48))
    assert torch.equal(layer(x), layer(x.float()).bfloat16())


@pytest.mark.parametrize("stored_type", TYPES)
@pytest.mark.parametrize("num_threads", [1, 2])
def test_a_row_does_not_depend_on_its_neighbours_bit_for_bit(
    functions: ctypes.CDLL, stored_type: str, num_threads: int
) -> None:
    blocks, _ = packed(random(80, 256), stored_type)
    x = random(23, 256)
    x[7] *= 1e6
    layer = BlockLinear(functions, blocks)
    before = torch.get_num_threads()
    torch.set_num_threads(num_threads)
    together = layer(x)
    torch.set_num_threads(before)
    for first, last in ((0, 1), (3, 5), (7, 10), (2, 6), (9, 17), (22, 23), (0, 23)):
        assert torch.equal(layer(x[first:last]), together[first:last])


@pytest.mark.parametrize("stored_type", TYPES)
def test_c9_01_zeros_stay_exactly_zero(functions: ctypes.CDLL, stored_type: str) -> None:
    """A zero row and a zero block of weights and of activations: no NaN, no trace."""
    weight, x = random(32, 96), random(4, 96)
    weight[3], weight[5, 32:64], x[1], x[2, :32] = 0, 0, 0, 0
    blocks, dense = packed(weight, stored_type)
    found = BlockLinear(functions, blocks)(x)
    assert not found[:, 3].any()
    assert not found[1].any()
    torch.testing.assert_close(found, quantize_rows(x) @ dense.T, rtol=1e-4, atol=1e-3)


def test_tiny_activations_become_zeros_and_nan_stays(functions: ctypes.CDLL) -> None:
    blocks, _ = packed(random(16, 64), "Q8_0")
    x = torch.full((3, 64), 1e-40)
    x[1, 40], x[2, 40] = float("nan"), float("inf")
    found = BlockLinear(functions, blocks)(x)
    assert not found[0].any()
    assert found[1:].isnan().all()


def test_extreme_bytes_do_not_saturate(functions: ctypes.CDLL) -> None:
    """-128 does not come from llama.cpp's quantizer, but may stand in a file."""
    raw = torch.full((16, 34), 0x80, dtype=torch.uint8)
    raw[:, 0], raw[:, 1], raw[8:, 2:] = 0x00, 0x3C, 0x7F
    found = BlockLinear(functions, pack_blocks(raw, "Q8_0"))(torch.full((1, 32), 127.0))
    assert found[0].tolist() == [-128.0 * 127 * 32] * 8 + [127.0 * 127 * 32] * 8


def test_rows_that_lie_apart_are_read_right(functions: ctypes.CDLL) -> None:
    blocks, _ = packed(random(16, 64), "Q4_1")
    layer, wide = BlockLinear(functions, blocks), random(4, 128)
    assert torch.equal(layer(wide[:, 64:]), layer(wide[:, 64:].clone()))
    assert layer(torch.empty(0, 64)).shape == (0, 16)


def test_other_shapes_and_types_are_refused(functions: ctypes.CDLL) -> None:
    layer = BlockLinear(functions, packed(random(16, 64), "Q4_1")[0])
    with pytest.raises(ValueError, match="the weights have 64"):
        layer(torch.zeros(1, 32))
    with pytest.raises(ValueError, match="float64"):
        layer(torch.zeros(1, 64, dtype=torch.float64))


def test_the_arena_keeps_what_was_placed() -> None:
    arena = Arena()
    pieces = [
        torch.from_numpy(np.full((3, size), index, dtype=np.uint8)) for index, size in enumerate((5, 70, 1))
    ]
    placed = [arena.place(piece) for piece in pieces]
    large = arena.place(torch.full((40 * 2**20,), 9, dtype=torch.uint8))
    assert all(torch.equal(a, b) for a, b in zip(pieces, placed, strict=True))
    assert all(tensor.data_ptr() % 64 == 0 for tensor in (*placed, large))
    assert large[-1] == 9


@pytest.fixture
def unit_functions(functions: ctypes.CDLL) -> ctypes.CDLL:
    """The kernels, if there is a matrix unit and they were compiled for it."""
    if not functions.has_matrix_unit():
        pytest.skip("no matrix unit")
    return functions


@pytest.mark.parametrize("stored_type", TYPES)
@pytest.mark.parametrize(
    ("num_rows", "num_inputs", "num_outputs"),
    [(17, 576, 960), (31, 32, 1), (32, 64, 17), (33, 1536, 33), (48, 96, 16), (100, 160, 72)],
)
@pytest.mark.parametrize("has_bias", [False, True])
def test_the_matrix_unit_multiplies_in_bfloat16(
    unit_functions: ctypes.CDLL,
    stored_type: str,
    num_rows: int,
    num_inputs: int,
    num_outputs: int,
    has_bias: bool,
) -> None:
    blocks, _ = packed(random(num_outputs, num_inputs), stored_type)
    x, bias = random(num_rows, num_inputs).bfloat16(), random(num_outputs) if has_bias else None
    exact = matrix_unit_twin(x.double(), blocks, None if bias is None else bias.double())
    found = BlockLinear(unit_functions, blocks, bias)(x)
    torch.testing.assert_close(found.double(), exact, rtol=0.02, atol=2e-3 * num_inputs**0.5)


@pytest.mark.parametrize("num_threads", [1, 2])
def test_with_the_matrix_unit_a_row_does_not_depend_on_its_neighbours(
    unit_functions: ctypes.CDLL, num_threads: int
) -> None:
    blocks, _ = packed(random(80, 256), "Q4_1")
    x = random(90, 256).bfloat16()
    x[7] *= 1e6
    layer = BlockLinear(unit_functions, blocks)
    before = torch.get_num_threads()
    torch.set_num_threads(num_threads)
    together = layer(x)
    torch.set_num_threads(before)
    for first, last in ((0, 17), (3, 35), (7, 40), (40, 90), (0, 64)):
        assert torch.equal(layer(x[first:last]), together[first:last])


def test_the_matrix_unit_can_be_left_out(functions: ctypes.CDLL) -> None:
    blocks, _ = packed(random(32, 64), "Q8_0")
    x = random(40, 64).bfloat16()
    layer = BlockLinear(functions, blocks, use_matrix_unit=False)
    assert torch.equal(layer(x), layer(x.float()).bfloat16())


@pytest.mark.parametrize("num_outputs", [1, 16, 40])
def test_unpacked_dense_weights_are_what_was_packed(num_outputs: int) -> None:
    weight = random(num_outputs, 96).bfloat16()
    assert torch.equal(unpack_blocks(pack_dense(weight)), weight.float())


@pytest.mark.parametrize("num_rows", [1, 2, 4, 5, 15, 16, 17, 33, 70])
@pytest.mark.parametrize(("num_inputs", "num_outputs"), [(576, 960), (32, 1), (64, 33)])
def test_dense_weights_are_multiplied_as_torch_does(
    functions: ctypes.CDLL, num_rows: int, num_inputs: int, num_outputs: int
) -> None:
    weight, x = random(num_outputs, num_inputs).bfloat16(), random(num_rows, num_inputs).bfloat16()
    exact = x.double() @ weight.double().T
    found = BlockLinear(functions, pack_dense(weight))(x)
    torch.testing.assert_close(found.double(), exact, rtol=0.005, atol=1e-3 * num_inputs**0.5)


def test_a_row_on_dense_weights_does_not_depend_on_its_neighbours(functions: ctypes.CDLL) -> None:
    layer, x = BlockLinear(functions, pack_dense(random(80, 256).bfloat16())), random(90, 256).bfloat16()
    for first, last in ((0, 5), (7, 40), (40, 90), (80, 86)):
        assert torch.equal(layer(x[first:last]), layer(x)[first:last])
    assert torch.equal(layer(x[2:3])[0], layer(x[:4])[2])


def test_dense_weights_take_bfloat16_only(functions: ctypes.CDLL) -> None:
    layer = BlockLinear(functions, pack_dense(random(16, 32).bfloat16()))
    with pytest.raises(ValueError, match="float32"):
        layer(torch.zeros(1, 32))


@pytest.mark.parametrize("num_rows", [1, 4, 20])
def test_results_may_stay_in_float32(functions: ctypes.CDLL, num_rows: int) -> None:
    for blocks in (packed(random(40, 64), "Q4_1")[0], pack_dense(random(40, 64).bfloat16())):
        layer, x = BlockLinear(functions, blocks, random(40)), random(num_rows, 64).bfloat16()
        wide = layer(x, torch.float32)
        assert wide.dtype is torch.float32
        assert torch.equal(wide.bfloat16(), layer(x))
