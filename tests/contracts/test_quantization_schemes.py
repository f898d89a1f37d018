"""What every quantization scheme must do, whatever it packs."""

from __future__ import annotations

import pytest
import torch

from reference_server import quantization
from reference_server.extensions import extension_names
from reference_server.models.checkpoint import StoredTensor
from reference_server.quantization import quantization_scheme

NAMES = extension_names(quantization)
CPU = torch.device("cpu")


def stored(weight: torch.Tensor) -> StoredTensor:
    return StoredTensor(tuple(weight.shape), "F32", lambda: weight)


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("num_rows", [1, 9])
def test_joined_matrices_multiply_as_dense_ones_do(name: str, dtype: torch.dtype, num_rows: int) -> None:
    first, second, bias = random(32, 64), random(96, 64), random(128).to(dtype)
    x = random(num_rows, 64).to(dtype)
    layer = quantization_scheme(name).linear([stored(first), stored(second)], bias, dtype=dtype, device=CPU)
    exact = x.float() @ torch.cat([first, second]).T + bias.float()
    found = layer(x)
    assert (found.dtype, found.shape) == (dtype, (num_rows, 128))
    assert (found.float() - exact).norm() / exact.norm() < 0.02


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("error")
def test_c9_01_zeros_stay_exactly_zero(name: str) -> None:
    """A zero row of weights, a zero group in another, zero activations: no NaN, nothing beside them moved."""
    weight = random(32, 64)
    weight[3] = 0
    weight[5, 32:] = 0
    layer = quantization_scheme(name).linear([stored(weight)], None, dtype=torch.float32, device=CPU)
    x = random(2, 64)
    found = layer(x)
    assert not found[:, 3].any()
    exact = x @ weight.T
    assert (found - exact).norm() / exact.norm() < 0.02
    assert not layer(torch.zeros(2, 64)).any()
