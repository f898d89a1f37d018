"""The layers in one call against the same layers one operation after the other."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest
import torch

from reference_server.engine import runner
from reference_server.engine.batch import make_batch
from reference_server.engine.config import EngineConfig
from reference_server.engine.loading import load_model
from reference_server.engine.step_plan import ScheduledSequence
from reference_server.kernels.library import kernel_library
from reference_server.models.loaders import tiny_random

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.engine.sequence import Sequence

BLOCK_SIZE = 8


@pytest.fixture(autouse=True)
def larger_heads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiny model with heads that the kernels take."""
    if kernel_library().functions is None:
        pytest.skip("no C kernels")
    config = dataclasses.replace(tiny_random.CONFIG, head_dim=32, num_heads=2, num_kv_heads=1)
    monkeypatch.setattr(tiny_random, "CONFIG", config)


def logits_of_steps(
    make_sequence: Callable[..., Sequence], **settings: Any
) -> tuple[Any, list[torch.Tensor]]:
    """A runner, and what it returns: two prompts of which one is cut, then a token of the one, then both."""
    config = EngineConfig(
        model="tiny-random", device="cpu", block_size=BLOCK_SIZE, max_model_len=64, **settings
    )
    computes = load_model(config).runner
    one, other = make_sequence("one", 9), make_sequence("other", 21)
    one.block_table, other.block_table = [3, 1], [2, 5, 4]
    steps = [[(one, 9), (other, 12)], [(one, 1), (other, 9)], [(one, 1), (other, 1)]]
    found = []
    for step in steps:
        scheduled = [ScheduledSequence(sequence, count) for sequence, count in step]
        batch = make_batch(scheduled, BLOCK_SIZE)
        found.append(computes.run(batch).clone())
        for sequence, count in step:
            sequence.num_computed_tokens += count
        for sequence in batch.sampling_sequences:
            sequence.append(7)
    return computes, found


def test_they_compute_what_the_modules_do(
    make_sequence: Callable[..., Sequence], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled, ours = logits_of_steps(make_sequence, dtype="bfloat16")
    assert compiled._compiled is not None
    monkeypatch.setattr(runner, "compiled_layers", lambda *_: None)
    plain, theirs = logits_of_steps(make_sequence, dtype="bfloat16")
    assert plain._compiled is None
    for found, expected in zip(ours, theirs, strict=True):
        assert found.dtype is torch.float32
        torch.testing.assert_close(found, expected, rtol=0.05, atol=0.15)


def test_float32_has_none(make_sequence: Callable[..., Sequence]) -> None:
    computes, _ = logits_of_steps(make_sequence, dtype="float32")
    assert computes._compiled is None


def test_the_specification_of_attention_has_none(make_sequence: Callable[..., Sequence]) -> None:
    computes, _ = logits_of_steps(make_sequence, dtype="bfloat16", attention_backend="dense")
    assert computes._compiled is None
