"""The same tokens when each step is begun before the one before it is read."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from support.abort_storm import abort_storm

from reference_server.engine.device_sampler import DeviceSampler
from reference_server.engine.engine import Engine
from reference_server.engine.request import EngineOutput, EngineRequest
from reference_server.engine.run_ahead import RunAhead

if TYPE_CHECKING:
    from torch import Tensor

    from reference_server.engine.batch import Batch
    from reference_server.engine.make_runner import Runner

MakeEngine = Callable[..., Engine]
MakeRequest = Callable[..., EngineRequest]
Run = Callable[..., dict[str, list[EngineOutput]]]


class NotingRunner:
    """A runner that takes tokens from tensors, and notes which batches came so."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.num_ahead = self.num_in_turn = 0

    def run(self, batch: Batch, token_ids: Tensor | None = None) -> Tensor:
        """As ``GraphRunner.run``."""
        if token_ids is None:
            self.num_in_turn += 1
            return self.runner.run(batch)
        self.num_ahead += 1
        return self.runner.run(dataclasses.replace(batch, token_ids=token_ids.numpy()))


@pytest.fixture
def make_ahead_engine(make_engine: MakeEngine) -> MakeEngine:
    """An engine with an overlap of steps, on the CPU."""

    def make(**settings: Any) -> Engine:
        engine = make_engine(**settings)
        engine.noting = NotingRunner(engine._computing._runner)  # type: ignore[attr-defined]
        engine._computing = RunAhead(
            engine.noting,  # type: ignore[attr-defined]
            DeviceSampler(engine.info.eos_token_ids),
            engine._scheduler.blocks,
            engine.info.max_model_len,
        )
        return engine

    return make


def tokens(outputs: dict[str, list[EngineOutput]]) -> dict[str, list[int]]:
    return {name: [t for part in parts for t in part.token_ids] for name, parts in outputs.items()}


@pytest.fixture(scope="module")
def mixed_requests(make_request: MakeRequest) -> list[EngineRequest]:
    """All kinds: greedy, seeded, penalized, ended by a token, with log-probabilities, alike at the front."""
    rng, kinds = random.Random(5), random.Random(6)
    requests = []
    for index in range(16):
        prompt = [rng.randrange(2, 258) for _ in range(rng.choice([1, 3, 15, 16, 17, 31, 32, 33, 70]))]
        wishes: dict[str, Any] = {"max_tokens": rng.randint(1, 40), "ignore_eos": index % 3 == 0}
        if index % 2:
            wishes |= {"temperature": 0.9, "seed": index, "top_p": 0.95}
        wishes |= kinds.choice([{}, {}, {"logprobs": 2}, {"min_tokens": 9}, {"logit_bias": {1: 994.0}}])
        requests.append(make_request(str(index), [7] * 40 + prompt if index > 12 else prompt, **wishes))
    return requests


CASES: dict[str, dict[str, Any]] = {
    "batched": {},
    "chunked": {"max_num_batched_tokens": 7},
    "few at once": {"max_num_seqs": 3},
    "small blocks": {"block_size": 1, "num_gpu_blocks_override": 2000},
    "preempted": {"block_size": 4, "num_gpu_blocks_override": 40},
    "preempted and chunked": {"block_size": 4, "num_gpu_blocks_override": 32, "max_num_batched_tokens": 9},
    "no prefix cache": {"enable_prefix_caching": False},
}


@pytest.mark.parametrize("case", CASES)
def test_tokens_are_those_of_one_step_after_the_other(
    case: str,
    make_engine: MakeEngine,
    make_ahead_engine: MakeEngine,
    run: Run,
    mixed_requests: list[EngineRequest],
) -> None:
    engine = make_ahead_engine(**CASES[case])
    for _ in range(2):  # the second time the prefix cache holds what the first left
        expected, found = run(make_engine(**CASES[case]), *mixed_requests), run(engine, *mixed_requests)
        assert tokens(found) == tokens(expected)
        reasons = {name: (parts[-1].finish_reason, parts[-1].stop_reason) for name, parts in found.items()}
        assert reasons == {n: (p[-1].finish_reason, p[-1].stop_reason) for n, p in expected.items()}
        assert engine.stats.num_free_blocks == engine.stats.num_blocks
    assert (engine.stats.num_preemptions > 0) == ("preempted" in case)
    assert engine.noting.num_ahead > 0  # type: ignore[attr-defined]


def test_decoding_is_always_begun_ahead(
    make_ahead_engine: MakeEngine, make_request: MakeRequest, run: Run
) -> None:
    """Prompts in turn, the other 29 steps ahead; none ahead of the last, which surely ends all."""
    engine = make_ahead_engine()
    run(engine, *(make_request(str(i), [5, 6, 7 + i], max_tokens=30) for i in range(3)))
    assert (engine.noting.num_in_turn, engine.noting.num_ahead) == (1, 29)  # type: ignore[attr-defined]


def test_a_newcomer_costs_no_step_that_was_begun(
    make_ahead_engine: MakeEngine, make_request: MakeRequest
) -> None:
    engine, found = make_ahead_engine(), {"a": 0, "b": 0}
    engine.add(make_request("a", [5, 6], max_tokens=20))
    for step in range(20):
        if step == 4:
            engine.add(make_request("b", [8, 9, 10], max_tokens=5))
        for output in engine.step():
            found[output.request_id] += len(output.token_ids)
    assert found == {"a": 20, "b": 5}
    assert not engine.has_work
    assert engine.noting.num_in_turn == 2, "the two prompts"  # type: ignore[attr-defined]
    assert engine.noting.num_ahead == 19  # type: ignore[attr-defined]


@pytest.mark.parametrize("wish", ["frequency_penalty", "presence_penalty", "repetition_penalty"])
def test_penalties_wait_for_the_tokens_they_count(
    make_engine: MakeEngine, make_ahead_engine: MakeEngine, make_request: MakeRequest, run: Run, wish: str
) -> None:
    requests = [make_request("a", [5, 6], max_tokens=12, **{wish: 1.5}), make_request("b", [7], max_tokens=9)]
    engine = make_ahead_engine()
    assert tokens(run(engine, *requests)) == tokens(run(make_engine(), *requests))
    assert engine.noting.num_ahead == 0  # type: ignore[attr-defined]


def test_an_abort_storm_leaves_the_rest_untouched(
    make_ahead_engine: MakeEngine, run: Run, mixed_requests: list[EngineRequest]
) -> None:
    engine = make_ahead_engine(block_size=4, num_gpu_blocks_override=48)
    expected = tokens(run(engine, *mixed_requests))
    abort_storm(engine, mixed_requests, num_blocks=48)
    assert tokens(run(engine, *mixed_requests)) == expected
