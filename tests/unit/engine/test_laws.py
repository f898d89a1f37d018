"""The laws of both samplers: what they draw by, for all wishes."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch

from reference_server.engine.device_sampler import DeviceSampler
from reference_server.engine.law import draw
from reference_server.engine.randomness import uniform
from reference_server.engine.sampler import Sampler
from reference_server.engine.sequence import Sequence

MakeSequence = Callable[..., Sequence]
EOS, VOCAB_SIZE = (1,), 300
WISHES: list[dict[str, Any]] = [
    {"temperature": 0.0},
    {"temperature": 0.0, "repetition_penalty": 1.5, "logit_bias": {5: 3.0}},
    {"temperature": 1.0},
    {"temperature": 0.6, "top_k": 7},
    {"temperature": 1.5, "top_p": 0.8, "frequency_penalty": 0.7},
    {"temperature": 1.0, "min_p": 0.05, "min_tokens": 50},
    {"temperature": 1.0, "top_k": 20, "top_p": 0.9, "presence_penalty": -0.3},
]


def rows(make_sequence: MakeSequence, seed: int) -> list[Sequence]:
    """A sequence for each wish, with some output."""
    rng = random.Random(seed)
    made: list[Sequence] = []
    for wishes in WISHES:
        sequence = make_sequence(
            str(len(made)), prompt_len=rng.randint(1, 9), seed=rng.randrange(1000), **wishes
        )
        for _ in range(rng.randint(0, 10)):
            sequence.append(rng.randrange(20))
        made.append(sequence)
    return made


@pytest.mark.parametrize("sampler", [Sampler(EOS), DeviceSampler(EOS)], ids=["host", "device"])
@pytest.mark.parametrize("seed", range(5))
def test_a_draw_from_its_law_is_the_token_that_is_sampled(
    make_sequence: MakeSequence, sampler: Sampler | DeviceSampler, seed: int
) -> None:
    sequences = rows(make_sequence, seed)
    logits = torch.randn(len(sequences), VOCAB_SIZE, generator=torch.Generator().manual_seed(seed)) * 3
    laws = sampler.laws(logits, sequences)
    assert laws.dtype is torch.float64
    assert laws.sum(-1).tolist() == pytest.approx([1.0] * len(sequences))
    numbers = [uniform(s.sampling.seed, s.num_tokens) for s in sequences]
    assert draw(laws, numbers) == [token.token_id for token in sampler.sample(logits, sequences)]


def test_both_samplers_have_the_same_laws(make_sequence: MakeSequence) -> None:
    sequences = rows(make_sequence, 9)
    logits = torch.randn(len(sequences), VOCAB_SIZE, generator=torch.Generator().manual_seed(9)) * 3
    host, device = (sampler.laws(logits, sequences) for sampler in (Sampler(EOS), DeviceSampler(EOS)))
    assert torch.allclose(host, device, atol=1e-6)
    assert ((host > 0).sum(-1) == (device > 0).sum(-1)).all()
    assert (host[:2] > 0).sum(-1).tolist() == [1, 1], "greedy ones are sure"
