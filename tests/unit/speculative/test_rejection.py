"""Rejection sampling of drawn drafts: by hand, and by the law that comes out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from scipy.stats import chisquare

from reference_server.engine.batch import make_batch
from reference_server.engine.law import certain, draw
from reference_server.engine.randomness import Stream, uniform
from reference_server.engine.rejection import (
    DrawingProposer,
    num_accepted,
    rejection_sample,
    residual,
    verified,
)
from reference_server.engine.request import EngineRequest
from reference_server.engine.sampler import Sampler
from reference_server.engine.sequence import Sequence
from reference_server.engine.step_plan import ScheduledSequence

MakeRequest = Callable[..., EngineRequest]
VOCAB_SIZE, NUM_SAMPLES, MIN_P_VALUE = 16, 20_000, 1e-3


@pytest.mark.parametrize(
    ("target", "draft", "numbers", "count"),
    [
        ([], [], [], 0),
        ([0.5], [0.25], [0.999], 1),  # the target likes it more: sure
        ([0.25], [0.5], [0.499], 1),  # half of its draws stand
        ([0.25], [0.5], [0.5], 0),
        ([0.0], [0.5], [0.0], 0),  # what the target never says
        ([0.2, 0.1, 0.9], [0.4, 0.4, 0.1], [0.4, 0.3, 0.0], 1),  # the first refused ends it
        ([1.0, 1.0], [1.0, 1.0], [0.9, 0.9], 2),
    ],
)
def test_a_token_stands_with_the_quotient_of_its_chances(
    target: list[float], draft: list[float], numbers: list[float], count: int
) -> None:
    assert num_accepted(target, draft, numbers) == count


def law(*chances: float) -> torch.Tensor:
    return torch.tensor(chances, dtype=torch.float64)


def test_a_refused_token_is_replaced_by_what_the_target_has_more() -> None:
    rest = residual(law(0.5, 0.25, 0.25, 0.0), law(0.25, 0.125, 0.125, 0.5))
    assert rest.tolist() == [0.25, 0.125, 0.125, 0.0]
    assert residual(law(0.5, 0.25, 0.25), law(0.125, 0.75, 0.125)).tolist() == [0.375, 0.0, 0.125]
    same = law(0.5, 0.5)
    assert residual(same, same) is same


def test_a_draw_is_the_inverse_of_the_cumulative_distribution() -> None:
    laws = law(0.0, 0.25, 0.0, 0.5, 0.25, 0.0).expand(7, -1)
    numbers = [0.0, 0.2499, 0.25, 0.7499, 0.75, 0.9999, 1 - 2**-53]
    assert draw(laws, numbers) == [1, 1, 3, 3, 4, 4, 4]
    assert draw(laws * 0.1, [*numbers[1:6], 0.0, 0.0]) == [1, 3, 3, 4, 4, 1, 1]


def test_random_numbers_of_streams_are_unrelated_and_those_of_tokens_stay() -> None:
    assert uniform(3, 4, Stream.TOKEN) == uniform(3, 4)
    rows = [[uniform(seed, 7, stream) for seed in range(2000)] for stream in Stream]
    correlations = torch.corrcoef(torch.tensor(rows, dtype=torch.float64))
    assert (correlations - torch.eye(len(Stream))).abs().max() < 0.08
    for row in rows:
        counts = torch.histc(torch.tensor(row), bins=10, min=0, max=1)
        assert chisquare(counts.numpy()).pvalue > MIN_P_VALUE


@pytest.fixture
def make_sequence(make_request: MakeRequest) -> Callable[..., Sequence]:
    def make(seed: int, **sampling: float) -> Sequence:
        sequence = Sequence(make_request(str(seed), [1, 2, 3], seed=seed, **sampling))
        sequence.num_computed_tokens, sequence.block_table = 2, [1]
        return sequence

    return make


def test_of_sure_laws_what_agrees_stands(make_sequence: Callable[..., Sequence]) -> None:
    """A greedy request needs no case of its own."""
    target = certain(torch.tensor([4, 5, 6]), VOCAB_SIZE)
    for draft, expected in (((4, 5), [4, 5, 6]), ((4, 9), [4, 5]), ((9, 5), [4]), ((), [4])):
        drawn = certain(torch.tensor(draft, dtype=torch.int64), VOCAB_SIZE)
        assert verified(draft, target[: len(draft) + 1], drawn, make_sequence(1)) == expected


class FixedLaw(DrawingProposer):
    """Draws each token of a draft from a law of its place, ``laws [k, vocab_size]`` of logits."""

    def __init__(self, logits: torch.Tensor, sampler: Sampler) -> None:
        self._logits, self._sampler = logits, sampler

    def propose(self, limits: object) -> dict[Sequence, list[int]]:
        """Not asked here: see ``draft``."""
        raise NotImplementedError

    def laws(self, sequence: Sequence) -> torch.Tensor:
        """After the request's own temperature and truncation."""
        return self._sampler.laws(self._logits, [sequence] * len(self._logits))

    def draft(self, sequence: Sequence) -> tuple[int, ...]:
        """Tokens by numbers of their own stream."""
        places = range(len(self._logits))
        numbers = [uniform(sequence.sampling.seed, sequence.num_tokens + p, Stream.DRAFT) for p in places]
        return tuple(draw(self.laws(sequence), numbers))


WISHES: list[Any] = [{"temperature": 1.0}] + [
    pytest.param(wishes, marks=pytest.mark.soak)
    for wishes in (
        {"temperature": 0.5},
        {"temperature": 2.0},
        {"temperature": 1.0, "top_p": 0.8},
        {"temperature": 1.3, "top_k": 9, "top_p": 0.9},
    )
]


@pytest.mark.parametrize("wishes", WISHES, ids=str)
def test_tokens_of_a_toy_target_have_its_law(
    make_sequence: Callable[..., Sequence], wishes: dict[str, float]
) -> None:
    """20,000 seeds, 16 tokens, drafts of two: chi-square of the tokens at each of three places.

    A later token comes of accepted ones before it, which don't depend on it, so it has its law as well.
    """
    target = torch.randn(3, VOCAB_SIZE, generator=torch.Generator().manual_seed(1)) * 1.5
    guess = target[:2] + torch.randn(2, VOCAB_SIZE, generator=torch.Generator().manual_seed(2))
    sampler = Sampler(())
    proposer = FixedLaw(guess, sampler)
    found: list[Counter[int]] = [Counter(), Counter(), Counter()]
    sample = make_sequence(0, **wishes)
    expected, drawn = sampler.laws(target, [sample] * 3), proposer.laws(sample)
    numbers = [[uniform(seed, 3 + p, Stream.DRAFT) for seed in range(NUM_SAMPLES)] for p in range(2)]
    drafts = zip(*(draw(drawn[p].expand(NUM_SAMPLES, -1), numbers[p]) for p in range(2)), strict=True)
    for seed, draft in enumerate(drafts):
        tokens = verified(draft, expected, drawn, make_sequence(seed, **wishes))
        for counter, token in zip(found, tokens, strict=False):
            counter[token] += 1
    assert found[0].total() == NUM_SAMPLES
    assert 0.3 * NUM_SAMPLES < found[1].total() < NUM_SAMPLES, "some drafts stand, and some don't"
    for counter, chances in zip(found, expected.tolist(), strict=True):
        assert set(counter) <= {t for t, p in enumerate(chances) if p > 0}
        assert p_value(counter, chances) > MIN_P_VALUE


def p_value(found: Counter[int], chances: list[float]) -> float:
    """Of the chi-square test; tokens that were expected less than five times are one cell."""
    total = found.total()
    cells = [(found[token], p * total) for token, p in enumerate(chances) if p > 0]
    common = [cell for cell in cells if cell[1] >= 5]
    rare = [cell for cell in cells if cell[1] < 5]
    if rare:
        common.append((sum(f for f, _ in rare), max(1e-9, sum(e for _, e in rare))))
    observed, wanted = zip(*common, strict=True)
    return float(chisquare(observed, wanted, sum_check=False).pvalue)


def test_the_test_notices_a_residual_that_was_forgotten() -> None:
    """Refused tokens replaced by draws from the whole law: the commonest fault."""
    target, guess = law(0.7, 0.1, 0.1, 0.1), law(0.1, 0.3, 0.3, 0.3)
    found: Counter[int] = Counter()
    for seed in range(4000):
        (token,) = draw(guess[None], [uniform(seed, 3, Stream.DRAFT)])
        p, q = float(target[token]), float(guess[token])
        if not num_accepted([p], [q], [uniform(seed, 3, Stream.ACCEPTANCE)]):
            (token,) = draw(target[None], [uniform(seed, 3, Stream.RESIDUAL)])
        found[token] += 1
    assert p_value(found, target.tolist()) < 1e-6


def test_a_mixed_batch_of_drafts_whole_cut_and_none(make_sequence: Callable[..., Sequence]) -> None:
    """Each sequence has its own rows; a cut draft uses the first laws; log-probabilities are the raw ones."""
    logits = torch.randn(6, VOCAB_SIZE, generator=torch.Generator().manual_seed(3))
    sampler = Sampler(())
    proposer = FixedLaw(torch.zeros(3, VOCAB_SIZE), sampler)
    whole, cut, plain = (make_sequence(seed, temperature=1.0, logprobs=2) for seed in (1, 2, 3))
    drafts = {whole: proposer.draft(whole)[:2], cut: proposer.draft(cut)[:1]}
    known = [(sequence, drafts.get(sequence, ())) for sequence in (whole, cut, plain)]
    scheduled = [ScheduledSequence(sequence, 1 + len(draft), draft) for sequence, draft in known]
    batch = make_batch(scheduled, 16)
    assert batch.sampling_sequences == [plain, whole, cut]
    found = rejection_sample(logits, batch, sampler, proposer)
    alone = sampler.sample(logits[:1], [plain])
    assert found[plain] == alone, "without a draft nothing differs"
    for sequence, rows in ((whole, logits[1:4]), (cut, logits[4:6])):
        laws, drawn = sampler.laws(rows, [sequence] * len(rows)), proposer.laws(sequence)
        draft = drafts[sequence]
        assert [t.token_id for t in found[sequence]] == verified(draft, laws, drawn[: len(draft)], sequence)
        for row, token in enumerate(found[sequence]):
            assert token.logprob is not None
            assert token.logprob.logprob == pytest.approx(float(rows[row].log_softmax(-1)[token.token_id]))
