"""Linear layers on weights in 8 bits with a scale for each output, against torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from reference_server.kernels.block_linear import BlockLinear, block_linear_twin
from reference_server.kernels.channel_linear import quantize_whole_rows
from reference_server.kernels.packed_blocks import PackedBlocks, pack_channels, unpack_blocks

if TYPE_CHECKING:
    import ctypes

SHAPES = [(576, 960), (64, 17), (1536, 33), (96, 16), (40, 31), (4, 1)]


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def packed(num_outputs: int, num_inputs: int) -> tuple[PackedBlocks, torch.Tensor]:
    """Any values, -128 among them, and what they mean."""
    generator = torch.Generator().manual_seed(num_outputs + num_inputs)
    values = torch.randint(-128, 128, (num_outputs, num_inputs), generator=generator, dtype=torch.int8)
    scales = torch.rand(num_outputs, 1, generator=generator) / 127
    return pack_channels(values, scales), values * scales


@pytest.mark.parametrize(("num_inputs", "num_outputs"), SHAPES)
def test_unpacked_channels_are_what_was_packed(num_inputs: int, num_outputs: int) -> None:
    blocks, dense = packed(num_outputs, num_inputs)
    assert torch.equal(unpack_blocks(blocks), dense)


@pytest.mark.parametrize("num_rows", [1, 2, 3, 4, 7, 16, 17, 33, 70])
@pytest.mark.parametrize(("num_inputs", "num_outputs"), SHAPES)
def test_c_multiplies_as_torch_does(
    functions: ctypes.CDLL, num_rows: int, num_inputs: int, num_outputs: int
) -> None:
    """With a bias and without, and with inputs that are no whole steps."""
    blocks, dense = packed(num_outputs, num_inputs)
    x, bias = random(num_rows, num_inputs), random(num_outputs) if num_rows % 2 else None
    exact = quantize_whole_rows(x).double() @ dense.double().T + (0 if bias is None else bias)
    found = BlockLinear(functions, blocks, bias)(x)
    torch.testing.assert_close(found.double(), exact, rtol=1e-4, atol=1e-4 * num_inputs**0.5)
    twin = block_linear_twin(x, blocks, bias)
    torch.testing.assert_close(twin.double(), exact, rtol=1e-4, atol=1e-4 * num_inputs**0.5)


@pytest.mark.parametrize("num_rows", [1, 3, 8, 16, 21, 32, 50])
def test_the_matrix_unit_changes_no_bit(functions: ctypes.CDLL, num_rows: int) -> None:
    blocks, _ = packed(80, 160)
    layer, lanes = BlockLinear(functions, blocks), BlockLinear(functions, blocks, use_matrix_unit=False)
    x = random(num_rows, 160)
    assert torch.equal(layer(x), lanes(x))


@pytest.mark.parametrize("num_threads", [1, 2])
def test_a_row_depends_neither_on_its_neighbours_nor_on_their_number(
    functions: ctypes.CDLL, num_threads: int
) -> None:
    blocks, _ = packed(72, 256)
    x = random(70, 256)
    x[7] *= 1e6
    layer = BlockLinear(functions, blocks, random(72))
    before = torch.get_num_threads()
    torch.set_num_threads(num_threads)
    together = layer(x)
    torch.set_num_threads(before)
    for first, last in ((0, 1), (3, 5), (7, 10), (9, 17), (5, 38), (69, 70)):
        assert torch.equal(layer(x[first:last]), together[first:last])


@pytest.mark.parametrize("num_rows", [4, 20])
def test_bfloat16_in_and_out_is_the_float32_result_rounded(functions: ctypes.CDLL, num_rows: int) -> None:
    layer = BlockLinear(functions, packed(40, 96)[0], random(40))
    x = random(num_rows, 96).bfloat16()
    assert torch.equal(layer(x), layer(x.float()).bfloat16())
    assert torch.equal(layer(x, torch.float32), layer(x.float()))


def test_c9_01_zeros_stay_exactly_zero(functions: ctypes.CDLL) -> None:
    """A row of zeros of weights, whose scale is 0 too, and of activations: no NaN, no trace."""
    values, scales, x = torch.ones(32, 96, dtype=torch.int8), torch.ones(32, 1), random(20, 96)
    values[3], scales[3], x[1], x[2, :64] = 0, 0, 0, 0
    found = BlockLinear(functions, pack_channels(values, scales))(x)
    assert not found[:, 3].any()
    assert not found[1].any()
    assert not found.isnan().any()


def test_tiny_activations_become_zeros_and_nan_stays(functions: ctypes.CDLL) -> None:
    x = torch.full((3, 64), 1e-40)
    x[1, 40], x[2, 40] = float("nan"), float("inf")
    found = BlockLinear(functions, packed(16, 64)[0])(x)
    assert not found[0].any()
    assert found[1:].isnan().all()


def test_the_largest_sums_are_exact(functions: ctypes.CDLL) -> None:
    values = torch.full((16, 64), -128, dtype=torch.int8)
    values[8:] = 127
    found = BlockLinear(functions, pack_channels(values, torch.ones(16, 1)))(torch.full((20, 64), 127.0))
    assert found[19].tolist() == [-128.0 * 127 * 64] * 8 + [127.0 * 127 * 64] * 8
