"""8-bit weights by channel: the rule, the kernel beside it, and zeros."""

from __future__ import annotations

import pytest
import torch

from reference_server.kernels.library import kernel_library
from reference_server.models.checkpoint import StoredTensor
from reference_server.quantization import UnsupportedQuantizationError, quantization_scheme
from reference_server.quantization.int8 import quantize_channels

CPU = torch.device("cpu")
DTYPES = [torch.float32, torch.bfloat16]


def _weight(num_outputs: int = 48, num_inputs: int = 96) -> torch.Tensor:
    return torch.randn(num_outputs, num_inputs, generator=torch.Generator().manual_seed(3))


def _layer(
    weight: torch.Tensor, dtype: torch.dtype, bias: torch.Tensor | None = None, device: torch.device = CPU
) -> torch.nn.Module:
    stored = StoredTensor(tuple(weight.shape), "F32", lambda: weight)
    return quantization_scheme("int8").linear([stored], bias, dtype=dtype, device=device)


def test_a_channel_is_rounded_to_127_steps_of_its_own_largest() -> None:
    values, scales = quantize_channels(torch.tensor([[127.0, -63.5, 1.2], [0.5, 0.25, -0.5]]))
    assert values.tolist() == [[127, -64, 1], [127, 64, -127]]
    assert scales.float().flatten().tolist() == pytest.approx([1.0, 0.5 / 127], rel=1e-3)


def test_rounding_is_at_most_half_a_step() -> None:
    weight = _weight()
    values, scales = quantize_channels(weight)
    assert ((values * scales.float() - weight).abs() <= 0.56 * scales.float()).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("num_rows", [1, 8, 40])
def test_products_are_near_those_of_the_weights(dtype: torch.dtype, num_rows: int) -> None:
    weight, x = _weight(), torch.randn(num_rows, 96, generator=torch.Generator().manual_seed(4)).to(dtype)
    expected = x.float() @ weight.T
    error = (_layer(weight, dtype)(x).float() - expected).norm() / expected.norm()
    assert error < 0.015


@pytest.mark.skipif(kernel_library().functions is None, reason="no C compiler")
def test_the_kernel_computes_what_torch_does() -> None:
    weight, bias = _weight(), torch.linspace(-1, 1, 48)
    x = torch.randn(4, 96, generator=torch.Generator().manual_seed(5)).bfloat16()
    expected = _layer(weight, torch.float32, bias)(x.float())
    torch.testing.assert_close(_layer(weight, torch.bfloat16, bias)(x).float(), expected, rtol=0.02, atol=0.1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_rows_give_none(dtype: torch.dtype) -> None:
    """A step that computes pieces of prompts alone has no row to choose from."""
    assert _layer(_weight(), dtype)(torch.empty(0, 96, dtype=dtype)).shape == (0, 48)


@pytest.mark.parametrize("dtype", DTYPES)
def test_C9_01_zero_rows_groups_and_activations_give_zeros(dtype: torch.dtype) -> None:
    """No NaN and no warning, and other rows as they were."""
    weight = _weight()
    x = torch.randn(3, 96, generator=torch.Generator().manual_seed(6)).to(dtype)
    x[1] = 0
    whole = _layer(weight, dtype)(x)
    zeroed = weight.clone()
    zeroed[5] = 0
    zeroed[7, 32:64] = 0
    found = _layer(zeroed, dtype)(x)
    assert (found[1] == 0).all()
    assert (found[:, 5] == 0).all()
    others = [output for output in range(48) if output not in (5, 7)]
    assert torch.equal(found[:, others], whole[:, others])
    only_group = torch.zeros_like(x)
    only_group[:, 32:64] = x[:, 32:64]
    assert (_layer(zeroed, dtype)(only_group)[:, 7] == 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_row_does_not_depend_on_its_neighbours(dtype: torch.dtype) -> None:
    layer = _layer(_weight(), dtype)
    x = torch.randn(4, 96, generator=torch.Generator().manual_seed(8)).to(dtype)
    beside_an_outlier = x.clone()
    beside_an_outlier[0] *= 1000
    assert torch.equal(layer(x)[1:], layer(beside_an_outlier)[1:])


def test_what_is_not_built_is_refused() -> None:
    with pytest.raises(UnsupportedQuantizationError, match="CPUs only"):
        _layer(_weight(), torch.bfloat16, device=torch.device("meta"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_inputs_need_not_be_whole_groups(dtype: torch.dtype) -> None:
    weight, x = _weight(num_inputs=40), torch.ones(2, 40, dtype=dtype)
    torch.testing.assert_close(_layer(weight, dtype)(x).float(), x.float() @ weight.T, rtol=0.05, atol=0.1)
