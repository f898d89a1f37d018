"""Every attention backend against the slow specification, on random batches in random blocks."""

from __future__ import annotations

import random
from itertools import islice, product
from typing import TYPE_CHECKING, Any

import pytest
import torch
from support.triton_interpreter import skip_unless_interpreted
from torch import Tensor

from reference_server import attention
from reference_server.attention import Attend, AttentionBackend, KVLayout, attention_backend
from reference_server.engine.batch import Batch, make_batch
from reference_server.engine.block_manager import BlockManager
from reference_server.engine.request import EngineRequest, SamplingParams
from reference_server.engine.sequence import Sequence
from reference_server.engine.step_plan import ScheduledSequence
from reference_server.extensions import extension_names

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = [name for name in extension_names(attention) if name != "dense"]
NUM_LAYERS, HEAD_DIM = 2, 16


def layout(device: str, dtype: torch.dtype, heads: tuple[int, int], block_size: int) -> KVLayout:
    return KVLayout(
        num_layers=NUM_LAYERS,
        num_heads=heads[0],
        num_kv_heads=heads[1],
        head_dim=HEAD_DIM,
        block_size=block_size,
        num_blocks=96,
        dtype=dtype,
        device=torch.device(device),
    )


def random_batches(seed: int, block_size: int) -> Iterator[Batch]:
    """Steps of 12 sequences: chunks of any size at first, single tokens later, never all of them at once."""
    rng = random.Random(seed)
    blocks = BlockManager(96, block_size)
    sampling = SamplingParams(max_tokens=1, seed=0)
    sequences = [
        Sequence(
            EngineRequest(request_id=str(i), prompt_token_ids=[1] * rng.randint(1, 30), sampling=sampling)
        )
        for i in range(12)
    ]
    for step in range(12):
        chosen = sequences if step == 6 else rng.sample(sequences, rng.randint(1, 12))
        scheduled = [
            ScheduledSequence(sequence, rng.randint(1, sequence.num_uncomputed_tokens)) for sequence in chosen
        ]
        for item in scheduled:
            blocks.grow(item.sequence, item.sequence.num_computed_tokens + item.num_scheduled_tokens)
        yield make_batch(scheduled, block_size)
        for item in scheduled:
            item.sequence.num_computed_tokens += item.num_scheduled_tokens
            if item.sequence.num_uncomputed_tokens == 0:
                item.sequence.append(1)


def compare(backend: AttentionBackend, oracle: AttentionBackend, place: KVLayout, batch: Batch) -> None:
    """The same random queries, keys and values through both, in every layer."""
    num_tokens = len(batch.token_ids)
    attend, expected = backend.plan(batch), oracle.plan(batch)
    for layer in range(NUM_LAYERS):
        query = rows(num_tokens, place.num_heads, place)
        key, value = rows(num_tokens, place.num_kv_heads, place), rows(num_tokens, place.num_kv_heads, place)
        tolerance = 1e-5 if place.dtype is torch.float32 else 2e-2
        found = call(attend, layer, query, key, value)
        assert found.shape == query.shape
        torch.testing.assert_close(
            found, call(expected, layer, query, key, value), rtol=tolerance, atol=tolerance
        )


def call(attend: Attend, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    with torch.inference_mode():
        return attend(layer, query, key, value)


def rows(num_tokens: int, num_heads: int, place: KVLayout) -> Tensor:
    return torch.randn(num_tokens, num_heads, HEAD_DIM, dtype=place.dtype, device=place.device)


HEADS, BLOCK_SIZES, DTYPES = [(4, 4), (6, 2), (3, 1)], [5, 16], [torch.float32, torch.bfloat16]
INTERPRETED = {(5, (4, 4), torch.bfloat16), (16, (6, 2), torch.float32), (16, (3, 1), torch.bfloat16)}
"""What the interpreter of Triton, which takes its time, goes through in every run; the rest is soak."""


def cases() -> Iterator[Any]:
    for name, device, *case in product(NAMES, ("cpu", "cuda"), BLOCK_SIZES, HEADS, DTYPES):
        is_slow = name == "triton" and device == "cpu" and tuple(case) not in INTERPRETED
        marks = [pytest.mark.gpu] if device == "cuda" else [pytest.mark.soak] if is_slow else []
        yield pytest.param(name, *case, device, marks=marks, id="-".join(map(str, (name, *case, device))))


@pytest.mark.parametrize(("name", "block_size", "heads", "dtype", "device"), list(cases()))
def test_a_backend_agrees_with_the_specification(
    name: str, block_size: int, heads: tuple[int, int], dtype: torch.dtype, device: str
) -> None:
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("torch finds no CUDA device")
    torch.manual_seed(0)
    place = layout(device, dtype, heads, block_size)
    every = 1
    if name == "triton" and device == "cpu":
        skip_unless_interpreted()
        every = 6  # interpreted kernels take 10 ms a program
    backend, oracle = attention_backend(name)(place), attention_backend("dense")(place)
    for batch in islice(random_batches(seed=heads[0], block_size=block_size), 0, None, every):
        compare(backend, oracle, place, batch)


@pytest.mark.parametrize("name", ["dense", *NAMES])
def test_a_single_token_attends_to_itself_alone(name: str) -> None:
    if name == "triton":
        skip_unless_interpreted()
    place = layout("cpu", torch.float32, (4, 2), 4)
    batch = next(random_batches(seed=0, block_size=4))
    sequence = Sequence(
        EngineRequest(request_id="a", prompt_token_ids=[1], sampling=SamplingParams(max_tokens=1, seed=0))
    )
    sequence.block_table.append(3)
    batch = make_batch([ScheduledSequence(sequence, 1)], 4)
    value = rows(1, 2, place)
    found = call(attention_backend(name)(place).plan(batch), 0, rows(1, 4, place), rows(1, 2, place), value)
    torch.testing.assert_close(found, value.repeat_interleave(2, dim=1))
