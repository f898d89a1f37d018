"""What a draft model takes counts before it guesses, on machines and for texts whose truth is known."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise

import pytest

from reference_server.engine.draft_lengths import DraftsThatPay
from reference_server.engine.request import EngineRequest
from reference_server.engine.sequence import Sequence

MakeRequest = Callable[..., EngineRequest]
MAX_TOKENS, STEP_NS = 4, 10_000_000


class Machine:
    """Steps of sequences whose guesses, by a model, are right with a given chance at each token.

    Args:
        pass_cost: Of the draft model, as a share of a step of one row.
        row_cost: What each further row adds to a step or a pass, as a share of it.
    """

    def __init__(
        self, make_request: MakeRequest, pass_cost: float, chance: float, num: int, row_cost: float = 0.02
    ) -> None:
        self.lengths, self.pass_cost, self.row_cost, self.chance = (
            DraftsThatPay(),
            pass_cost,
            row_cost,
            chance,
        )
        self.sequences = [Sequence(make_request(str(n))) for n in range(num)]
        self.rng = random.Random(1)
        self.num_tokens, self.time, self.depths = 0, 0.0, list[int]()
        self.lengths.observe(num, self._ns(self._step_time(num)))

    def run(self, num_steps: int) -> float:
        """Tokens in the time of a step that drafts nothing, by sequence."""
        self.num_tokens, self.time, self.depths = 0, 0.0, []
        for _ in range(num_steps):
            self._step()
        num = len(self.sequences)
        return self.num_tokens / self.time * self._step_time(num) / num

    def _step(self) -> None:
        num = len(self.sequences)
        asked = self.lengths.ask(num, num, dict.fromkeys(self.sequences, MAX_TOKENS))
        depth = max(asked.values(), default=0)
        self.depths.append(depth)
        passes = [(num, self._ns(self.pass_cost * self._step_time(num))) for _ in range(depth)]
        self.lengths.observe_guess(passes)
        chosen = self.lengths.choose(num, num, {s: [1] * asked[s] for s in asked})
        num_rows = num + sum(chosen.values())
        for sequence in self.sequences:
            tokens = self._tokens(chosen.get(sequence, 0))
            self.num_tokens += len(tokens)
            self.lengths.judge(sequence, tokens)
        self.time += self._step_time(num_rows) + depth * self.pass_cost * self._step_time(num)
        self.lengths.observe(num_rows, self._ns(self._step_time(num_rows)))

    def _tokens(self, length: int) -> list[int]:
        tokens = []
        for _ in range(length + 1):
            tokens.append(int(self.rng.random() < self.chance))
            if not tokens[-1]:
                break
        return tokens

    def _step_time(self, num_rows: int) -> float:
        return 1 + self.row_cost * (num_rows - 1)

    def _ns(self, time: float) -> int:
        return round(time * STEP_NS * self.rng.uniform(0.97, 1.03))


@pytest.fixture
def machine(make_request: MakeRequest) -> Callable[..., Machine]:
    def make(pass_cost: float, chance: float, num: int = 1) -> Machine:
        return Machine(make_request, pass_cost, chance, num)

    return make


@pytest.mark.parametrize(("pass_cost", "chance"), [(0.2, 0.02), (0.5, 0.4), (1.0, 0.9), (3.0, 0.9)], ids=str)
@pytest.mark.parametrize("num", [1, 8])
def test_a_draft_model_that_does_not_pay_costs_next_to_nothing(
    machine: Callable[..., Machine], pass_cost: float, chance: float, num: int
) -> None:
    """Trials take a hundredth of the time at most, however long they are."""
    world = machine(pass_cost, chance, num)
    world.run(600)
    assert world.run(1200) > 0.97


@pytest.mark.parametrize("num", [1, 8])
def test_a_good_one_guesses_whole_drafts(machine: Callable[..., Machine], num: int) -> None:
    world = machine(0.1, 0.95, num)
    assert world.run(300) > 2.0
    assert sum(world.depths[100:]) / 200 > 3.5


def test_a_fair_one_guesses_shorter_drafts(machine: Callable[..., Machine]) -> None:
    """A later token is likely right too seldom to pay for its pass."""
    world = machine(0.2, 0.6)
    world.run(100)
    assert world.run(1000) > 1.15
    assert 1 <= sum(world.depths) / 1000 < 3


def test_trials_are_rarer_the_more_they_cost(machine: Callable[..., Machine]) -> None:
    """Of four passes, each of a quarter or of three quarters of a step: every 100 steps, or every 300."""
    gaps = []
    for pass_cost in (0.25, 0.75):
        world = machine(pass_cost, 0.02)
        world.run(500)
        world.run(1500)
        trials = [step for step, depth in enumerate(world.depths) if depth]
        gaps.append(sum(later - earlier for earlier, later in pairwise(trials)) / (len(trials) - 1))
    assert gaps == [pytest.approx(100, rel=0.1), pytest.approx(300, rel=0.1)]


def test_short_guesses_that_pay_are_now_and_then_made_longer(machine: Callable[..., Machine]) -> None:
    """Else nobody would ever learn that the later tokens are right as well."""
    world = machine(0.1, 1.0)
    for sequence in world.sequences:
        for _ in range(60):
            world.lengths.ask(1, 1, {sequence: 2})
            world.lengths.choose(1, 1, {sequence: [1, 1]})
            world.lengths.judge(sequence, [1, 0])
    world.run(300)
    assert world.depths[1:20] == [1] * 19
    assert world.depths[-50:] == [MAX_TOKENS] * 50


def test_one_that_becomes_good_is_noticed_by_trials(machine: Callable[..., Machine]) -> None:
    world = machine(0.1, 0.0)
    world.run(500)
    assert sum(world.depths[100:]) / 400 < 0.2
    world.chance = 0.95
    world.run(1500)
    assert world.run(100) > 2.0


def test_methods_without_a_model_are_always_asked(machine: Callable[..., Machine]) -> None:
    """What costs nothing teaches for nothing."""
    world = machine(0.0, 0.0)
    world.lengths.observe_guess([])
    limits = dict.fromkeys(world.sequences, MAX_TOKENS)
    for _ in range(100):
        assert world.lengths.ask(1, 1, limits) == limits
        world.lengths.observe_guess(())
        world.lengths.observe(1, STEP_NS)
