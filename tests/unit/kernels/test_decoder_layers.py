"""All layers in one call, against their twin in torch and against the model's own operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

from reference_server.kernels import decoder_layers
from reference_server.kernels.decoder_layers import DecoderLayers, LayerWeights, TokenBatch

if TYPE_CHECKING:
    import ctypes

DIM = 32


def batch_of(starts: list[int], contexts: list[int]) -> TokenBatch:
    """Sequences in blocks 1 and 2, 3 and 4 ... of 4 tokens."""
    num_tokens = starts[-1]
    angles = torch.randn(num_tokens, 2, 1, DIM, generator=torch.Generator().manual_seed(2)).bfloat16()
    tables = np.arange(2 * len(contexts)).reshape(-1, 2) + 1
    slots = [
        int(tables[row, position // 4]) * 4 + position % 4
        for row, context in enumerate(contexts)
        for position in range(context - (starts[row + 1] - starts[row]), context)
    ]
    return TokenBatch(
        cos=angles[:, 0],
        sin=angles[:, 1],
        slots=np.array(slots),
        tables=tables,
        contexts=np.array(contexts),
        starts=np.array(starts),
        num_decodes=int((np.diff(starts) == 1).sum()),
    )


def layers_of(functions: ctypes.CDLL) -> list[LayerWeights]:
    """Two small layers; every call makes the same, with a pool of its own."""
    layers = decoder_layers._random_layers(functions, torch.Generator().manual_seed(3))
    pools = torch.randn(2, 9, 4, 2, 1, DIM, generator=torch.Generator().manual_seed(4)).bfloat16()
    return [
        LayerWeights(**{**vars(layer), "pool": pool.clone()})
        for layer, pool in zip(layers, pools, strict=True)
    ]


@pytest.mark.parametrize(
    ("starts", "contexts"),
    [([0, 1], [1]), ([0, 1, 2], [8, 3]), ([0, 5], [7]), ([0, 1, 2, 6, 9], [4, 8, 4, 8])],
)
@pytest.mark.parametrize("num_threads", [1, 2])
def test_c_computes_as_torch_does(
    functions: ctypes.CDLL, starts: list[int], contexts: list[int], num_threads: int
) -> None:
    ours, theirs, batch = layers_of(functions), layers_of(functions), batch_of(starts, contexts)
    found = torch.randn(starts[-1], DIM, generator=torch.Generator().manual_seed(5)).bfloat16()
    expected = found.clone()
    before = torch.get_num_threads()
    torch.set_num_threads(num_threads)
    DecoderLayers(functions, ours, 2, 1e-5)(found, batch)
    torch.set_num_threads(before)
    decoder_layers.decoder_layers_twin(expected, theirs, 2, 1e-5, batch)
    torch.testing.assert_close(found.float(), expected.float(), rtol=0.05, atol=0.05)
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine.pool.float(), other.pool.float(), rtol=0.05, atol=0.05)


def test_a_sequence_does_not_depend_on_its_neighbours(functions: ctypes.CDLL) -> None:
    batch = batch_of([0, 1, 2], [8, 3])
    rows = torch.randn(2, DIM, generator=torch.Generator().manual_seed(6)).bfloat16()
    together, alone = rows.clone(), rows[1:].clone()
    DecoderLayers(functions, layers_of(functions), 2, 1e-5)(together, batch)
    own = TokenBatch(
        cos=batch.cos[1:],
        sin=batch.sin[1:],
        slots=batch.slots[1:],
        tables=batch.tables[1:],
        contexts=batch.contexts[1:],
        starts=np.array([0, 1]),
        num_decodes=1,
    )
    DecoderLayers(functions, layers_of(functions), 2, 1e-5)(alone, own)
    assert torch.equal(alone[0], together[1])
