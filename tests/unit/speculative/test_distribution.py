"""Sampled tokens have the model's own distribution, however good the drafts are: tests by chi-square."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pytest
import torch
from scipy.stats import chisquare

from reference_server.engine.batch import make_batch
from reference_server.engine.draft_lengths import WholeDrafts
from reference_server.engine.drafting import Drafting
from reference_server.engine.request import EngineOutput, EngineRequest
from reference_server.engine.sampler import Sampler
from reference_server.engine.sequence import Sequence
from reference_server.engine.step_plan import ScheduledSequence
from reference_server.engine.verification import accepted_tokens, sampling_states
from reference_server.speculative import Proposer

if TYPE_CHECKING:
    from reference_server.engine.engine import Engine

MakeRequest = Callable[..., EngineRequest]
Answers = dict[str, list[EngineOutput]]

VOCAB_SIZE, NUM_SAMPLES = 16, 20_000
MIN_P_VALUE = 1e-3


def p_value(found: Counter[tuple[int, ...]], expected: dict[tuple[int, ...], float]) -> float:
    """Of the chi-square test; outcomes that were expected less than five times are one cell."""
    total = found.total()
    assert set(found) <= set(expected), "a token that can't be"
    cells = [(found[key], p * total) for key, p in expected.items()]
    common = [cell for cell in cells if cell[1] >= 5]
    rare = [cell for cell in cells if cell[1] < 5]
    if sum(e for _, e in rare) >= 5:
        common.append((sum(f for f, _ in rare), sum(e for _, e in rare)))
    observed, wanted = zip(*common, strict=True)
    scale = sum(observed) / sum(wanted)
    return float(chisquare(observed, [e * scale for e in wanted]).pvalue)


def toy_logits() -> torch.Tensor:
    """A target of 16 tokens that depends on the position: ``[2, 16]``."""
    return torch.randn(2, VOCAB_SIZE, generator=torch.Generator().manual_seed(1)) * 1.5


def exact(logits: torch.Tensor, temperature: float, top_p: float) -> list[float]:
    """Probabilities after temperature and top-p, by their definition."""
    p = (logits.double() / temperature).softmax(-1)
    order = p.argsort(descending=True)
    before = p[order].cumsum(-1) - p[order]
    p[order[before >= top_p]] = 0.0
    return list((p / p.sum()).tolist())


@pytest.mark.parametrize(("temperature", "top_p"), [(0.3, 1.0), (1.0, 1.0), (2.5, 1.0), (1.0, 0.8)])
def test_verified_tokens_of_a_toy_target(make_request: MakeRequest, temperature: float, top_p: float) -> None:
    """20,000 seeds against a draft that is right at times: the target's law comes out at both places."""
    logits = toy_logits()
    draft = (int(logits[0].argsort(descending=True)[1]),)
    sampler, firsts, seconds = Sampler(()), Counter[int](), Counter[int]()
    for start in range(0, NUM_SAMPLES, 500):
        scheduled = []
        for seed in range(start, start + 500):
            request = make_request(str(seed), [1, 2, 3], temperature=temperature, top_p=top_p, seed=seed)
            sequence = Sequence(request)
            sequence.num_computed_tokens, sequence.block_table = 2, [1]
            scheduled.append(ScheduledSequence(sequence, 2, draft))
        batch = make_batch(scheduled, 16)
        sampled = sampler.sample(logits.repeat(500, 1), sampling_states(batch))
        for accepted in accepted_tokens(batch, sampled).values():
            for counter, token in zip((firsts, seconds), accepted, strict=False):
                counter[token.token_id] += 1
    for row, counter in enumerate((firsts, seconds)):
        law = {(t,): p for t, p in enumerate(exact(logits[row], temperature, top_p)) if p > 0}
        assert p_value(Counter({(t,): n for t, n in counter.items()}), law) > MIN_P_VALUE
    assert firsts.total() == NUM_SAMPLES
    assert seconds.total() == firsts[draft[0]], "a second token comes of an accepted first one only"
    assert seconds.total() > 50


class Likeliest(Proposer):
    """Guesses the same tokens for all."""

    def __init__(self, draft: list[int]) -> None:
        self.draft = draft

    def propose(self, limits: Mapping[Sequence, int]) -> dict[Sequence, list[int]]:
        """See above."""
        return {sequence: self.draft[:limit] for sequence, limit in limits.items()}


TOP_K, TEMPERATURE, PROMPT, NUM_ANSWERS = 3, 0.5, [5, 6, 7, 8, 5, 6, 7], 1500


def next_law(engine: Engine, run: Callable[..., Answers], request: EngineRequest) -> dict[int, float]:
    """The model's law after a prompt, from its log-probabilities."""
    (output,) = run(engine, request)["a"]
    assert output.logprobs is not None
    weights = {token: math.exp(logprob / TEMPERATURE) for token, logprob in output.logprobs[0].top[:TOP_K]}
    return {token: weight / sum(weights.values()) for token, weight in weights.items()}


def law_of_four(
    engine: Engine, run: Callable[..., Answers], make_request: MakeRequest
) -> dict[tuple[int, ...], float]:
    """Of all answers of four tokens, by the chain rule."""
    law: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(4):
        longer = {}
        for answer, p in law.items():
            request = make_request("a", [*PROMPT, *answer], max_tokens=1, logprobs=TOP_K)
            longer |= {(*answer, t): p * q for t, q in next_law(engine, run, request).items()}
        law = longer
    return law


def test_answers_of_an_engine_that_drafts(
    make_engine: Callable[..., Engine], run: Callable[..., Answers], make_request: MakeRequest
) -> None:
    """Four tokens of three likely ones each: 81 answers, of which some agree with the draft for a while."""
    law = law_of_four(make_engine(), run, make_request)
    likeliest = max(law, key=lambda answer: law[answer])
    engine = make_engine(4)
    engine._scheduler._drafting = Drafting(
        Likeliest(list(likeliest[1:3])), WholeDrafts(), 2, engine.info.max_model_len
    )
    answers: Counter[tuple[int, ...]] = Counter()
    requests = [
        make_request(str(seed), PROMPT, max_tokens=4, seed=seed, temperature=TEMPERATURE, top_k=TOP_K)
        for seed in range(NUM_ANSWERS)
    ]
    for outputs in run(engine, *requests).values():
        answers[tuple(t for output in outputs for t in output.token_ids)] += 1
    first, second = engine.stats.num_accepted_per_pos[:2]
    assert 0 < second < first < engine.stats.num_drafts
    assert p_value(answers, law) > MIN_P_VALUE


@pytest.mark.soak
def test_answers_of_an_engine_whose_drafts_are_drawn(
    make_engine: Callable[..., Engine], run: Callable[..., Answers], make_request: MakeRequest
) -> None:
    """By a draft model that mostly agrees: all 81 answers come as often as without drafts."""
    law = law_of_four(make_engine(), run, make_request)
    engine = make_engine(2, "draft_model", {"draft_sample_method": "probabilistic"})
    requests = [
        make_request(str(seed), PROMPT, max_tokens=4, seed=seed, temperature=TEMPERATURE, top_k=TOP_K)
        for seed in range(NUM_ANSWERS)
    ]
    answers: Counter[tuple[int, ...]] = Counter()
    for outputs in run(engine, *requests).values():
        answers[tuple(t for output in outputs for t in output.token_ids)] += 1
    first, second = engine.stats.num_accepted_per_pos
    assert 0 < second < first < engine.stats.num_drafts
    assert p_value(answers, law) > MIN_P_VALUE


def test_the_test_notices_drafts_that_are_accepted_too_often() -> None:
    """A tenth of what should be refused, let through."""
    law = {(t,): p for t, p in enumerate(exact(toy_logits()[0], 1.0, 1.0))}
    favoured = max(law, key=lambda key: law[key])
    biased = {key: 0.9 * p + (0.1 if key == favoured else 0) for key, p in law.items()}
    found = Counter({key: round(p * NUM_SAMPLES) for key, p in biased.items()})
    assert p_value(found, law) < 1e-6
