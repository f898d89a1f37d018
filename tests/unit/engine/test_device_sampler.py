"""The sampler of a CUDA device against the specification, row by row; and that it reads once."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from reference_server.engine.device_sampler import DeviceSampler
from reference_server.engine.sampler import SampledToken, Sampler
from reference_server.engine.sequence import Sequence

MakeSequence = Callable[..., Sequence]

EOS = (1,)
VOCAB_SIZE = 300
READS = ("_local_scalar_dense", "nonzero", "masked_select", "unique", "is_nonzero", "equal", "item")


def random_logits(num_rows: int, seed: int) -> torch.Tensor:
    """Rounded, so that there are ties."""
    logits = torch.randn(num_rows, VOCAB_SIZE, generator=torch.Generator().manual_seed(seed)) * 3
    return (logits * 4).round() / 4


def random_sampling(rng: random.Random) -> dict[str, Any]:
    """Any wishes; half of the rows have none."""
    wishes: dict[str, Any] = {"temperature": rng.choice([0.0, 0.7, 1.0, 2.0]), "seed": rng.randrange(1000)}
    offers: dict[str, list[Any]] = {
        "top_k": [0, 1, 5, 1000],
        "top_p": [1.0, 0.9, 0.3, 1e-6],
        "min_p": [0.0, 0.05, 1.0],
        "repetition_penalty": [1.0, 1.3, 0.8],
        "frequency_penalty": [0.0, 0.5],
        "presence_penalty": [0.0, -0.4],
        "min_tokens": [0, 8],
        "logit_bias": [{}, {5: 3.0, 7: -2.0}],
        "logprobs": [None, 0, 3, 20],
        "stop_token_ids": [(), (4, 9, 1)],
    }
    if rng.random() < 0.5:
        wishes |= {name: rng.choice(values) for name, values in offers.items()}
    return wishes


def sequences_of(make_sequence: MakeSequence, seed: int, num_rows: int = 6) -> list[Sequence]:
    rng = random.Random(seed)
    made = []
    for row in range(num_rows):
        sequence = make_sequence(str(row), prompt_len=rng.randint(1, 9), **random_sampling(rng))
        for _ in range(rng.randint(0, 10)):
            sequence.append(rng.randrange(20))
        made.append(sequence)
    return made


def assert_alike(found: list[SampledToken], expected: list[SampledToken]) -> None:
    assert [token.token_id for token in found] == [token.token_id for token in expected]
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours.logprob is None) == (theirs.logprob is None)
        if ours.logprob is None or theirs.logprob is None:
            continue
        assert ours.logprob.token_id == theirs.logprob.token_id
        assert ours.logprob.logprob == pytest.approx(theirs.logprob.logprob, abs=1e-5)
        values = [value for _, value in ours.logprob.top]
        assert values == pytest.approx([value for _, value in theirs.logprob.top], abs=1e-5)


@pytest.mark.parametrize("seed", range(60))
def test_it_chooses_what_the_specification_chooses(make_sequence: MakeSequence, seed: int) -> None:
    sequences, logits = sequences_of(make_sequence, seed), random_logits(6, seed)
    before = logits.clone()
    found = DeviceSampler(EOS).sample(logits, sequences)
    assert_alike(found, Sampler(EOS).sample(logits, sequences))
    assert torch.equal(logits, before), "logits are left as they are"


def test_draws_follow_the_distribution(make_sequence: MakeSequence) -> None:
    """20,000 rows of one distribution over four tokens; chi-square with 3 degrees, p about 0.0005 at 17.7."""
    logits = torch.full((VOCAB_SIZE,), float("-inf"))
    probabilities = torch.tensor([0.1, 0.2, 0.3, 0.4])
    logits[10:14] = probabilities.log()
    counts = torch.zeros(4)
    for start in range(0, 20_000, 2000):
        sequences = [make_sequence(str(i), temperature=1.0, seed=i) for i in range(start, start + 2000)]
        for token in DeviceSampler(EOS).sample(logits.expand(2000, -1), sequences):
            counts[token.token_id - 10] += 1
    expected = probabilities * 20_000
    assert float(((counts - expected) ** 2 / expected).sum()) < 17.7


def test_nothing_to_sample_is_nothing(make_sequence: MakeSequence) -> None:
    del make_sequence
    assert DeviceSampler(EOS).sample(torch.empty(0, VOCAB_SIZE), []) == []


class Reads(TorchDispatchMode):
    """Notes every operator whose result decides something on the host."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        name = func.name().removeprefix("aten::").split(".")[0]
        if name in READS:
            self.found.append(name)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("seed", range(8))
def test_the_host_reads_once_a_step(
    make_sequence: MakeSequence, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    lists: list[torch.Size] = []
    tolist = torch.Tensor.tolist

    def counting(tensor: torch.Tensor) -> Any:
        lists.append(tensor.shape)
        return tolist(tensor)

    monkeypatch.setattr(torch.Tensor, "tolist", counting)
    sequences = sequences_of(make_sequence, seed)
    with Reads() as reads:
        DeviceSampler(EOS).sample(random_logits(6, seed), sequences)
    assert reads.found == []
    assert len(lists) == 1
