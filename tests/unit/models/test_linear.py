"""Packed layers multiply as plain ones do."""

from __future__ import annotations

import pytest
import torch

from reference_server.models.linear import DenseLinear, PrepackedLinear, can_prepack, dense_linear

needs_packing = pytest.mark.skipif(
    not can_prepack(), reason="this torch or CPU has no packed bfloat16 layers"
)


@needs_packing
@pytest.mark.parametrize("num_rows", [1, 3, 33])
@pytest.mark.parametrize("has_bias", [False, True])
def test_packed_rows_are_the_float32_product_rounded(num_rows: int, has_bias: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(96, 64, generator=generator).bfloat16()
    bias = torch.randn(96, generator=generator).bfloat16() if has_bias else None
    x = torch.randn(num_rows, 64, generator=generator).bfloat16()
    exact = x.float() @ weight.float().T + (bias.float() if bias is not None else 0)
    torch.testing.assert_close(PrepackedLinear(weight, bias)(x).float(), exact, rtol=0.01, atol=0.05)


@needs_packing
def test_packed_rows_do_not_depend_on_their_neighbours() -> None:
    generator = torch.Generator().manual_seed(0)
    layer = PrepackedLinear(torch.randn(96, 64, generator=generator).bfloat16(), None)
    x = torch.randn(8, 64, generator=generator).bfloat16()
    together = layer(x)
    assert all(torch.equal(layer(x[row : row + 1])[0], together[row]) for row in range(8))


def test_float32_is_never_packed() -> None:
    assert isinstance(dense_linear(torch.zeros(4, 4), None), DenseLinear)


def test_without_the_operators_the_plain_layer_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise AttributeError(name)

    monkeypatch.setattr("reference_server.models.linear._operator", absent)
    can_prepack.cache_clear()
    layer = dense_linear(torch.eye(4).bfloat16(), None)
    can_prepack.cache_clear()
    assert isinstance(layer, DenseLinear)
    assert torch.equal(layer(torch.ones(1, 4).bfloat16()), torch.ones(1, 4).bfloat16())
