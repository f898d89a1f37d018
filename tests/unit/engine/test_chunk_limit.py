"""The share of long prompts in a step follows what steps cost."""

from __future__ import annotations

import random
import statistics

import pytest
from support import scheduler_step

from reference_server.engine.block_manager import BlockManager
from reference_server.engine.chunk_limit import MAX_SLOWDOWN, MIN_TOKENS, ChunkLimit
from reference_server.engine.request import EngineRequest, SamplingParams
from reference_server.engine.scheduler import Scheduler, SchedulerConfig
from reference_server.engine.sequence import Sequence

BUDGET = 512
DECODING_NS = 30_000_000


def run_long_prompt(limit: ChunkLimit, *, fixed_ms: float, token_ms: float, noise: float) -> list[float]:
    """A prompt of 4,000 tokens whose attention costs more and more: steps, as multiples of a decode's."""
    rng, done, found = random.Random(0), 0, []
    while done < 4000:
        count = min(limit.tokens(8), 4000 - done)
        cost_ns = DECODING_NS + (fixed_ms + count * token_ms * (1 + done / 1000)) * 1e6
        duration_ns = int(cost_ns * (1 + noise * rng.random()))
        limit.observe(8, count, duration_ns)
        found.append(duration_ns / DECODING_NS)
        done += count
    return found


@pytest.fixture
def limit() -> ChunkLimit:
    limit = ChunkLimit(BUDGET)
    for _ in range(10):
        limit.observe(8, 0, DECODING_NS)
    return limit


@pytest.mark.parametrize("token_ms", [0.02, 0.2, 0.5])
@pytest.mark.parametrize("fixed_ms", [0, 15])
def test_steps_stay_within_the_slowdown(limit: ChunkLimit, fixed_ms: float, token_ms: float) -> None:
    slowdowns = run_long_prompt(limit, fixed_ms=fixed_ms, token_ms=token_ms, noise=0)
    assert max(slowdowns) < 1.15 * MAX_SLOWDOWN
    if len(slowdowns) > 30:  # else the prompt is through before the limit is found
        assert statistics.median(slowdowns) > 0.85 * MAX_SLOWDOWN


def test_noise_is_no_reason_to_crawl(limit: ChunkLimit) -> None:
    quiet = run_long_prompt(limit, fixed_ms=10, token_ms=0.2, noise=0)
    noisy = run_long_prompt(limit, fixed_ms=10, token_ms=0.2, noise=0.5)
    assert len(noisy) < 2 * len(quiet)


def test_a_prompt_gets_on_even_if_every_step_is_too_long(limit: ChunkLimit) -> None:
    slowdowns = run_long_prompt(limit, fixed_ms=1000, token_ms=10, noise=0)
    assert len(slowdowns) <= 4000 / MIN_TOKENS


def test_without_a_look_at_decoding_there_is_no_limit() -> None:
    limit = ChunkLimit(BUDGET)
    limit.observe(0, 512, 10**9)
    limit.observe(3, 512, 10**9)
    assert limit.tokens(3) == BUDGET


def test_more_sequences_than_were_seen_are_held_against_the_most_that_were() -> None:
    limit = ChunkLimit(BUDGET)
    limit.observe(8, 0, DECODING_NS)
    assert limit.tokens(7) == BUDGET
    assert limit.tokens(9) == limit.tokens(60) < BUDGET


def test_a_few_tokens_tell_nothing_of_many(limit: ChunkLimit) -> None:
    before = limit.tokens(8)
    limit.observe(8, 3, 100 * DECODING_NS)
    assert limit.tokens(8) == before


def test_the_limit_never_exceeds_the_budget() -> None:
    limit = ChunkLimit(4)
    limit.observe(1, 0, 100)
    assert limit.tokens(1) == 4
    limit.observe(1, 4, 101)
    assert limit.tokens(1) == 4


def decoding_beside(*lengths: int, **settings: int | None) -> Scheduler:
    """One sequence decodes already, by steps of 1 ms; then prompts of these lengths arrive. Budget: 64."""
    config = SchedulerConfig(
        max_num_seqs=8,
        max_num_batched_tokens=64,
        max_model_len=2048,
        **settings,  # type: ignore[arg-type]  # one setting
    )
    scheduler = Scheduler(config, BlockManager(128, 16, enable_prefix_caching=False))
    for place, length in enumerate((1, *lengths)):
        sampling = SamplingParams(max_tokens=100, seed=0)
        request = EngineRequest(request_id=str(length), prompt_token_ids=[place] * length, sampling=sampling)
        scheduler.add(Sequence(request))
        if not place:
            step(scheduler)
    return scheduler


def step(scheduler: Scheduler) -> dict[str, int]:
    """A step of which each token takes 1 ms; counts by prompt length."""
    return scheduler_step.step(scheduler, token_ns=10**6)


def test_a_prompt_of_several_steps_is_limited_and_others_are_not() -> None:
    scheduler = decoding_beside(200, 40)
    assert step(scheduler) == {"1": 1, "200": 32, "40": 31}
    assert step(scheduler) == {"1": 1, "200": 16, "40": 9}


def test_two_long_prompts_share_the_limit_and_a_short_one_passes() -> None:
    scheduler = decoding_beside(200, 300, 10)
    assert step(scheduler) == {"1": 1, "200": 32, "10": 10}


def test_a_long_prompt_alone_takes_the_whole_budget() -> None:
    scheduler = decoding_beside(200)
    scheduler.remove(scheduler.running[0])
    assert step(scheduler) == {"200": 64}


def test_a_fixed_threshold_or_none_switches_it_off() -> None:
    assert step(decoding_beside(200, long_prefill_token_threshold=0)) == {"1": 1, "200": 63}
    assert step(decoding_beside(200, long_prefill_token_threshold=50)) == {"1": 1, "200": 50}
