"""As much is drafted as pays, on machines and for texts whose truth is known."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from reference_server.engine.draft_lengths import DraftsThatPay
from reference_server.engine.request import EngineOutput, EngineRequest
from reference_server.engine.sequence import Sequence

if TYPE_CHECKING:
    from reference_server.engine.engine import Engine

MakeRequest = Callable[..., EngineRequest]
Answers = dict[str, list[EngineOutput]]
MAX_TOKENS = 4


class Machine:
    """Steps of sequences whose guesses are right with a given chance at each token.

    Args:
        row_cost: What each further row adds to a step, as a share of a step of one row.
    """

    def __init__(self, row_cost: float, make_request: MakeRequest, chances: list[float]) -> None:
        self.lengths = DraftsThatPay()
        self.row_cost = row_cost
        self.chances = {Sequence(make_request(str(n))): chance for n, chance in enumerate(chances)}
        self.rng = random.Random(1)
        self.num_tokens, self.time = 0, 0.0

    def step(self) -> list[int]:
        """Lengths of the drafts, by sequence."""
        num = len(self.chances)
        drafts = {sequence: [1] * MAX_TOKENS for sequence in self.chances}
        chosen = self.lengths.choose(num, num, drafts)
        num_rows = num + sum(chosen.values())
        duration = 1 + self.row_cost * (num_rows - 1)
        for sequence, chance in self.chances.items():
            tokens = self._tokens(chance, chosen.get(sequence, 0))
            self.num_tokens += len(tokens)
            self.lengths.judge(sequence, tokens)
        self.time += duration
        self.lengths.observe(num_rows, round(duration * self.rng.uniform(0.97, 1.03) * 1e7))
        return [chosen.get(sequence, 0) for sequence in self.chances]

    def _tokens(self, chance: float, length: int) -> list[int]:
        tokens = []
        for _ in range(length + 1):
            tokens.append(int(self.rng.random() < chance))
            if not tokens[-1]:
                break
        return tokens

    def mean_lengths(self, num_steps: int) -> list[float]:
        """Of the drafts of each sequence, over so many steps."""
        steps = [self.step() for _ in range(num_steps)]
        return [sum(lengths) / num_steps for lengths in zip(*steps, strict=True)]


@pytest.fixture
def machine(make_request: MakeRequest) -> Callable[..., Machine]:
    def make(row_cost: float, *chances: float) -> Machine:
        return Machine(row_cost, make_request, list(chances))

    return make


def test_right_guesses_are_drafted_whole(machine: Callable[..., Machine]) -> None:
    assert machine(0.1, 0.98).mean_lengths(200)[0] > 3.5


@pytest.mark.parametrize("chances", [[0.02], [0.02] * 8, [0.3] * 8], ids=str)
def test_what_does_not_pay_costs_next_to_nothing(
    machine: Callable[..., Machine], chances: list[float]
) -> None:
    """Rows that cost as much as steps: 3 % are lost at most, however long it goes on."""
    world = machine(0.5, *chances)
    world.mean_lengths(1500)
    plain = 1 + 0.5 * (len(chances) - 1)
    assert world.num_tokens / world.time > 0.97 * len(chances) / plain


def test_cheap_rows_are_worth_poor_guesses(machine: Callable[..., Machine]) -> None:
    world = machine(0.02, 0.4)
    world.mean_lengths(50)
    assert 0.8 < world.mean_lengths(300)[0] < 3.5


def test_the_sequences_whose_guesses_are_right_get_the_rows(machine: Callable[..., Machine]) -> None:
    world = machine(0.25, 0.95, 0.05, 0.95, 0.05)
    world.mean_lengths(50)
    good, bad, also_good, also_bad = world.mean_lengths(200)
    assert min(good, also_good) > 2
    assert max(bad, also_bad) < 0.3


def test_guesses_that_become_good_are_noticed_without_a_draft(machine: Callable[..., Machine]) -> None:
    """And the other way round."""
    world = machine(0.1, 0.0)
    world.mean_lengths(100)
    assert world.mean_lengths(100) == [0]
    (sequence,) = world.chances
    world.chances[sequence] = 1.0
    world.mean_lengths(20)
    assert world.mean_lengths(50)[0] > 3.5
    world.chances[sequence] = 0.0
    world.mean_lengths(40)
    assert world.mean_lengths(50)[0] < 0.1


def test_an_engine_drafts_what_pays_and_the_tokens_stay(
    make_engine: Callable[..., Engine],
    make_request: MakeRequest,
    run: Callable[..., Answers],
    tokens: Callable[[Answers], dict[str, list[int]]],
) -> None:
    """Guesses of a text that repeats itself come true; on a tiny model a row costs next to nothing."""
    settings: dict[str, Any] = {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 2}
    engine = make_engine(speculative_config=settings)
    requests = [make_request(str(n), [5, 6, 7] * (n + 2), max_tokens=60) for n in range(6)]
    assert tokens(run(engine, *requests)) == tokens(run(make_engine(), *requests))
    assert engine.stats.num_drafts > 0
