"""Top-k, top-p, min-p against a slow, obvious implementation."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from reference_server.engine.request import SamplingParams
from reference_server.engine.truncation import survivors


def kept(logits: Tensor, **limits: float) -> list[int]:
    """Ids that are still possible."""
    params = SamplingParams(max_tokens=1, seed=0, **limits)  # type: ignore[arg-type]  # top_k is an int
    ids = survivors(logits, params)
    return list(range(len(logits))) if ids is None else ids.tolist()


def slowly_kept(logits: Tensor, *, top_k: int = 0, top_p: float = 1.0, min_p: float = 0.0) -> list[int]:
    order = sorted(range(len(logits)), key=lambda i: (-logits[i].item(), i))
    if top_k > 0:
        order = order[:top_k]
    weights = [math.exp(logits[i].item() - logits[order[0]].item()) for i in order]
    mass, chosen = 0.0, []
    for token_id, weight in zip(order, weights, strict=True):
        if mass / sum(weights) >= top_p or weight < min_p:
            break
        mass += weight
        chosen.append(token_id)
    return sorted(chosen)


@pytest.mark.parametrize("scale", [0.01, 1.0, 5.0])
@pytest.mark.parametrize(
    "limits",
    [
        {"top_k": 1},
        {"top_k": 7},
        {"top_k": 256},
        {"top_k": 300},
        {"top_p": 0.1},
        {"top_p": 0.95},
        {"min_p": 0.2},
        {"min_p": 0.99},
        {"top_k": 50, "top_p": 0.8},
        {"top_k": 400, "top_p": 0.97, "min_p": 0.01},
        {"top_p": 0.999, "min_p": 0.5},
    ],
    ids=str,
)
def test_the_same_tokens_stay_as_by_sorting(limits: dict[str, float], scale: float) -> None:
    """Flat rows need more than the head of 256 tokens, peaked rows do not."""
    logits = torch.randn(1000, generator=torch.Generator().manual_seed(3)) * scale
    assert kept(logits, **limits) == slowly_kept(logits, **limits)  # type: ignore[arg-type]  # as above


def test_of_equal_tokens_the_lowest_ids_stay() -> None:
    logits = torch.tensor([1.0, 3.0, 2.0, 2.0, 2.0, 0.0])
    assert kept(logits, top_k=3) == [1, 2, 3]
    assert kept(torch.zeros(1000), top_k=2) == [0, 1]
    assert kept(torch.zeros(1000), top_p=0.5) == list(range(500))


@pytest.mark.parametrize("top_k", [0, -1, 1000, 5_000_000])
def test_c4_05_top_k_off_or_beyond_the_vocabulary_keeps_all(top_k: int) -> None:
    logits = torch.randn(1000, generator=torch.Generator().manual_seed(0))
    assert len(kept(logits, top_k=top_k)) == 1000
    assert kept(logits, top_k=top_k, top_p=0.5) == slowly_kept(logits, top_p=0.5)


def test_without_limits_nothing_is_looked_at() -> None:
    assert survivors(torch.zeros(5), SamplingParams(max_tokens=1, seed=0)) is None


def test_banned_tokens_never_survive() -> None:
    logits = torch.tensor([0.0, -math.inf, 1.0, -math.inf, -1.0])
    assert kept(logits, top_p=0.9999) == [0, 2, 4]
    assert kept(logits, min_p=0.001) == [0, 2, 4]
