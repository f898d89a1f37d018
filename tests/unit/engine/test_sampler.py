"""From logits to tokens: what each parameter does, and that rows don't feel each other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from scipy import stats
from torch import Tensor

from reference_server.engine.sampler import SampledToken, Sampler
from reference_server.engine.sequence import Sequence

MakeSequence = Callable[..., Sequence]

EOS = 1
VOCAB = 64


@pytest.fixture
def sampler() -> Sampler:
    return Sampler((EOS,))


def random_logits(num_rows: int = 1, seed: int = 0) -> Tensor:
    return torch.randn(num_rows, VOCAB, generator=torch.Generator().manual_seed(seed)) * 3


def choose(sampler: Sampler, logits: Tensor, *sequences: Sequence) -> list[int]:
    return [token.token_id for token in sampler.sample(logits, list(sequences))]


def test_greedy_takes_the_best_and_the_lowest_id_on_a_tie(
    sampler: Sampler, make_sequence: MakeSequence
) -> None:
    logits = torch.zeros(2, VOCAB)
    logits[0, [9, 30]] = 2.0
    logits[1, 40] = 1.0
    assert choose(sampler, logits, make_sequence(), make_sequence()) == [9, 40]


@pytest.mark.parametrize("temperature", [0.0, 1e-8, 9e-6])
def test_c4_03_a_tiny_temperature_equals_greedy(
    sampler: Sampler, make_sequence: MakeSequence, temperature: float
) -> None:
    logits = random_logits()
    assert choose(sampler, logits, make_sequence(temperature=temperature)) == [int(logits.argmax())]


@pytest.mark.parametrize("temperature", [1e-5, 1e-3, 5.0, 1e6])
def test_c4_03_extreme_temperatures_stay_finite_and_leave_neighbours_alone(
    sampler: Sampler, make_sequence: MakeSequence, temperature: float
) -> None:
    logits = random_logits(3, seed=1) * 20
    neighbours = make_sequence("b", temperature=0.7, seed=5), make_sequence("c")
    alone = [choose(sampler, logits[1:2], neighbours[0]), choose(sampler, logits[2:], neighbours[1])]

    mixed = choose(sampler, logits, make_sequence("a", temperature=temperature, seed=3), *neighbours)

    assert mixed[1:] == [alone[0][0], alone[1][0]]
    assert 0 <= mixed[0] < VOCAB
    if temperature < 0.01:
        assert mixed[0] == int(logits[0].argmax())


def test_draws_follow_the_softmax(sampler: Sampler, make_sequence: MakeSequence) -> None:
    """Chi-square of 20,000 seeds against the exact distribution on a vocabulary of 16."""
    logits, temperature, num_draws = random_logits()[:, :16], 1.5, 20_000
    expected = (logits[0] / temperature).softmax(-1).double()
    sequences = [make_sequence(temperature=temperature, seed=seed) for seed in range(num_draws)]

    counts = Counter(choose(sampler, logits.expand(num_draws, -1), *sequences))

    observed = [counts[token_id] for token_id in range(16)]
    assert stats.chisquare(observed, (expected / expected.sum() * num_draws).numpy()).pvalue > 0.01


def test_draws_under_top_k_and_top_p_follow_the_cut_distribution(
    sampler: Sampler, make_sequence: MakeSequence
) -> None:
    logits, num_draws = random_logits(seed=4)[:, :16], 5_000
    best = logits[0].topk(5)
    expected = best.values.softmax(-1).double()
    sequences = [make_sequence(temperature=1.0, top_k=5, seed=seed) for seed in range(num_draws)]

    counts = Counter(choose(sampler, logits.expand(num_draws, -1), *sequences))

    observed = [counts.pop(token_id) for token_id in best.indices.tolist()]
    assert not counts, "tokens beyond the fifth were drawn"
    assert stats.chisquare(observed, (expected / expected.sum() * num_draws).numpy()).pvalue > 0.01


def test_a_row_does_not_depend_on_its_neighbours(sampler: Sampler, make_sequence: MakeSequence) -> None:
    """Whatever mixture of parameters shares the batch, in whatever order."""
    kinds: list[dict[str, Any]] = [
        {},
        {"temperature": 0.8, "seed": 42},
        {"temperature": 0.8, "seed": 43, "top_p": 0.9},
        {"temperature": 1.2, "seed": 44, "top_k": 10, "min_p": 0.02},
        {"temperature": 1.0, "seed": 45, "repetition_penalty": 1.3, "logit_bias": {3: 4.0}},
        {"min_tokens": 5, "logprobs": 3},
    ]
    logits = random_logits(len(kinds), seed=2)
    sequences = [make_sequence(str(i), **kind) for i, kind in enumerate(kinds)]
    alone = [choose(sampler, logits[i : i + 1], s)[0] for i, s in enumerate(sequences)]

    assert choose(sampler, logits, *sequences) == alone
    assert choose(sampler, logits.flip(0), *reversed(sequences)) == alone[::-1]


def test_a_draw_depends_on_the_position(sampler: Sampler, make_sequence: MakeSequence) -> None:
    logits = torch.zeros(1, VOCAB)
    sequence = make_sequence(temperature=1.0, seed=7)
    drawn = []
    for _ in range(8):
        drawn += choose(sampler, logits, sequence)
        sequence.append(drawn[-1])
    assert len(set(drawn)) > 4


def test_the_last_possible_token_is_drawn_and_none_beyond(
    sampler: Sampler, make_sequence: MakeSequence, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A uniform number next to 1 must not run off the end, nor into tokens without probability."""
    monkeypatch.setattr("reference_server.engine.sampler.uniform", lambda *_: 1.0 - 2.0**-53)
    logits = torch.zeros(1, VOCAB)
    logits[0, 10:] = -math.inf
    assert choose(sampler, logits, make_sequence(temperature=1.0)) == [9]
    monkeypatch.setattr("reference_server.engine.sampler.uniform", lambda *_: 0.0)
    logits[0, :3] = -math.inf
    assert choose(sampler, logits, make_sequence(temperature=1.0)) == [3]


def test_logit_bias_is_added(sampler: Sampler, make_sequence: MakeSequence) -> None:
    logits = random_logits()
    assert choose(sampler, logits, make_sequence(logit_bias={17: 100.0})) == [17]
    best = int(logits.argmax())
    assert choose(sampler, logits, make_sequence(logit_bias={best: -100.0})) != [best]


def test_stop_tokens_are_barred_before_min_tokens(sampler: Sampler, make_sequence: MakeSequence) -> None:
    logits = torch.zeros(1, VOCAB)
    logits[0, EOS], logits[0, 8], logits[0, 9] = 5.0, 4.0, 3.0
    sequence = make_sequence(min_tokens=2, stop_token_ids=(8,))
    chosen = []
    for _ in range(3):
        chosen += choose(sampler, logits, sequence)
        sequence.append(chosen[-1])
    assert chosen == [9, 9, EOS]


def test_penalties_by_their_formulas(sampler: Sampler, make_sequence: MakeSequence) -> None:
    """Repetition over prompt and output; presence and frequency over the output only."""
    params = {"repetition_penalty": 2.0, "presence_penalty": 0.25, "frequency_penalty": 0.5}
    sequence = make_sequence(prompt_len=2, **params)  # prompt 2, 3
    for token_id in (3, 4, 4):
        sequence.append(token_id)
    logits = torch.full((1, VOCAB), -9.0)
    logits[0, 2:6] = torch.tensor([1.0, -1.0, 3.0, 0.5])
    expected = [1.0 / 2, -1.0 * 2 - 0.5 - 0.25, 3.0 / 2 - 2 * 0.5 - 0.25, 0.5]

    adjusted = sampler._adjusted(logits, [sequence])

    assert adjusted[0, 2:6].tolist() == pytest.approx(expected)


def test_logprobs_are_those_of_the_raw_logits(sampler: Sampler, make_sequence: MakeSequence) -> None:
    logits = random_logits()
    raw = logits[0].log_softmax(-1)
    sequence = make_sequence(temperature=3.0, seed=1, top_k=2, logit_bias={5: 50.0}, logprobs=3)

    (token,) = sampler.sample(logits, [sequence])

    assert token.logprob is not None
    assert token.logprob.logprob == pytest.approx(raw[token.token_id].item())
    assert [token_id for token_id, _ in token.logprob.top] == raw.topk(3).indices.tolist()
    assert [p for _, p in token.logprob.top] == pytest.approx(raw.topk(3).values.tolist())


def test_c5_08_logprobs_are_finite_even_for_banned_tokens(
    sampler: Sampler, make_sequence: MakeSequence
) -> None:
    (token,) = sampler.sample(
        random_logits(), [make_sequence(temperature=1.0, top_k=1, logit_bias={4: -math.inf}, logprobs=VOCAB)]
    )
    assert token.logprob is not None
    assert all(math.isfinite(p) for _, p in token.logprob.top)


def test_c5_06_logprobs_zero_reports_the_chosen_token_alone(
    sampler: Sampler, make_sequence: MakeSequence
) -> None:
    with_none, with_zero = sampler.sample(random_logits(2), [make_sequence(), make_sequence(logprobs=0)])
    assert with_none == SampledToken(with_none.token_id, None)
    assert with_zero.logprob is not None
    assert with_zero.logprob.top == []


def test_greedy_rows_never_sort(
    sampler: Sampler, make_sequence: MakeSequence, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("sort", "topk", "cumsum", "softmax", "log_softmax"):
        monkeypatch.setattr(torch.Tensor, name, None)
    assert len(choose(sampler, random_logits(2), make_sequence(), make_sequence(top_k=5, top_p=0.5))) == 2
