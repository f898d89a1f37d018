"""A hundred answers of two hundred tokens, by each method with drafts of every length: the same tokens."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from reference_server.engine.request import EngineOutput, EngineRequest

if TYPE_CHECKING:
    from reference_server.engine.engine import Engine

MakeEngine = Callable[..., "Engine"]
Answers = dict[str, list[EngineOutput]]
Run = Callable[..., Answers]
Tokens = Callable[[Answers], dict[str, list[int]]]

NUM_PROMPTS, NUM_TOKENS = 100, 200
WISHES: dict[str, dict[str, Any]] = {"greedy": {}, "seeded": {"temperature": 0.8, "top_k": 20}}

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]


@pytest.fixture(scope="module", params=WISHES)
def requests(
    request: pytest.FixtureRequest, make_request: Callable[..., EngineRequest]
) -> list[EngineRequest]:
    """Prompts of random tokens, of a phrase that repeats, and of both."""
    rng = random.Random(11)
    found = []
    for index in range(NUM_PROMPTS):
        phrase = [rng.randrange(2, 258) for _ in range(rng.randint(1, 30))]
        prompt = phrase * rng.randint(1, 4) + [rng.randrange(2, 258) for _ in range(rng.randint(0, 20))]
        wish = WISHES[request.param] | {"max_tokens": NUM_TOKENS, "seed": index}
        found.append(make_request(str(index), prompt, **wish))
    return found


@pytest.fixture(scope="module")
def expected(
    make_engine: MakeEngine, run: Run, tokens: Tokens, requests: list[EngineRequest]
) -> dict[str, list[int]]:
    """Token by token, one request after the other."""
    return tokens(run(make_engine(max_num_seqs=1), *requests))


@pytest.mark.parametrize("num_drafted", range(1, 9))
@pytest.mark.parametrize("max_num_seqs", [1, 8])
@pytest.mark.parametrize("method", ["ngram", "suffix", "draft_model"])
def test_C8_01_drafts_change_no_token_of_a_hundred_answers(
    method: str,
    max_num_seqs: int,
    num_drafted: int,
    make_engine: MakeEngine,
    run: Run,
    tokens: Tokens,
    requests: list[EngineRequest],
    expected: dict[str, list[int]],
) -> None:
    """In a pool that eight of them overfill: they preempt one another while drafts are verified."""
    settings = {"max_num_seqs": max_num_seqs, "block_size": 8, "num_gpu_blocks_override": 150}
    engine = make_engine(num_drafted, method, **settings)
    assert tokens(run(engine, *requests)) == expected
    assert sum(engine.stats.num_accepted_per_pos) > 0
    assert (engine.stats.num_preemptions > 0) == (max_num_seqs > 1)
