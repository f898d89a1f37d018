"""The prefix cache in the whole engine: the same tokens as without it, less work, true counters."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from reference_server.engine.engine import Engine
from reference_server.engine.request import EngineOutput, EngineRequest

MakeEngine = Callable[..., Engine]
MakeRequest = Callable[..., EngineRequest]
Run = Callable[..., dict[str, list[EngineOutput]]]

BLOCK_SIZE = 16


def tokens(outputs: list[EngineOutput]) -> list[int]:
    return [token_id for output in outputs for token_id in output.token_ids]


def text(length: int, seed: int = 0) -> list[int]:
    rng = random.Random(seed)
    return [rng.randrange(2, 258) for _ in range(length)]


def cached(outputs: list[EngineOutput]) -> int:
    """What all outputs of a sequence say of its cached tokens."""
    (count,) = {output.num_cached_tokens for output in outputs}
    return count


@pytest.fixture
def small(make_engine: MakeEngine) -> Engine:
    """A fresh engine with small blocks."""
    return make_engine(block_size=BLOCK_SIZE)


@pytest.fixture(scope="module")
def related(make_request: MakeRequest) -> list[EngineRequest]:
    """Requests that share beginnings of all lengths, some greedy, some seeded."""
    rng, document = random.Random(1), text(150)
    requests = []
    for index in range(12):
        prompt = document[: rng.choice([15, 16, 17, 32, 100, 150])] + text(rng.randint(0, 20), index)
        sampling: dict[str, Any] = {"max_tokens": rng.randint(1, 24)}
        if index % 2:
            sampling |= {"temperature": 0.9, "seed": index + 100}
        requests.append(make_request(str(index), prompt, **sampling))
    return requests


@pytest.fixture(scope="module")
def uncached_answers(make_engine: MakeEngine, run: Run, related: list[EngineRequest]) -> dict[str, list[int]]:
    """Every request by itself, without a cache."""
    engine = make_engine(block_size=BLOCK_SIZE, enable_prefix_caching=False)
    answers = {r.request_id: tokens(run(engine, r)[r.request_id]) for r in related}
    assert engine.stats.prefix_cache_queries == engine.stats.prefix_cache_hits == 0
    return answers


CASES: dict[str, dict[str, Any]] = {
    "batched": {},
    "chunked": {"max_num_batched_tokens": 20},
    "short chunks beside others": {"long_prefill_token_threshold": 9},
    "whole prompts": {"enable_chunked_prefill": False, "max_num_batched_tokens": 100},
    "few at once": {"max_num_seqs": 2},
    "preempted": {"block_size": 4, "num_gpu_blocks_override": 50},
    "preempted and chunked": {"block_size": 4, "num_gpu_blocks_override": 50, "max_num_batched_tokens": 9},
    "slow specification": {"attention_backend": "dense"},
    "off": {"enable_prefix_caching": False},
}


@pytest.mark.parametrize("case", CASES)
def test_tokens_are_the_same_with_and_without_the_cache(
    case: str,
    make_engine: MakeEngine,
    run: Run,
    related: list[EngineRequest],
    uncached_answers: dict[str, list[int]],
) -> None:
    """Twice: the second time all prompts have been seen."""
    engine = make_engine(**({"block_size": BLOCK_SIZE} | CASES[case]))
    for _ in range(2):
        outputs = run(engine, *related)
        assert {name: tokens(parts) for name, parts in outputs.items()} == uncached_answers
    assert (engine.stats.prefix_cache_hits > 0) == (case != "off")
    assert (engine.stats.num_preemptions > 0) == ("preempted" in case)
    assert engine.stats.num_free_blocks == engine.stats.num_blocks


@pytest.mark.parametrize(
    ("prompt_len", "found"), [(1, 0), (15, 0), (16, 0), (17, 16), (31, 16), (32, 16), (33, 32)]
)
def test_C3_05_whole_blocks_are_found_and_the_last_token_is_always_computed(
    small: Engine, run: Run, make_request: MakeRequest, prompt_len: int, found: int
) -> None:
    request = make_request("a", text(prompt_len), max_tokens=20)
    first, second, third = (run(small, request)["a"] for _ in range(3))
    assert (cached(first), cached(second), cached(third)) == (0, found, found)
    assert tokens(first) == tokens(second) == tokens(third)


def test_C3_06_a_long_prompt_is_answered_alike_four_times(
    make_engine: MakeEngine, run: Run, make_request: MakeRequest
) -> None:
    request = make_request("a", text(1400), max_tokens=16)
    expected = tokens(run(make_engine(enable_prefix_caching=False), request)["a"])
    engine = make_engine()
    answers = [run(engine, request)["a"] for _ in range(4)]
    assert [tokens(answer) for answer in answers] == [expected] * 4
    assert [cached(answer) for answer in answers] == [0, 1376, 1376, 1376]


def test_a_conversation_finds_its_own_answer(small: Engine, run: Run, make_request: MakeRequest) -> None:
    """Blocks filled while decoding are found too; the last token of an answer was never fed back."""
    prompt = text(20)
    answer = tokens(run(small, make_request("a", prompt, max_tokens=29))["a"])
    again = run(small, make_request("b", prompt + answer + [7], max_tokens=2))["b"]
    assert cached(again) == 48


def test_C3_01_reuse_by_thousands_leaves_every_block_free_once(
    make_engine: MakeEngine, run: Run, make_request: MakeRequest
) -> None:
    engine = make_engine(block_size=BLOCK_SIZE, num_gpu_blocks_override=24, max_num_seqs=16)
    prefix = text(40)
    for batch in range(10):
        requests = [make_request(str(i), [*prefix, 2 + batch, 2 + i], max_tokens=1) for i in range(200)]
        run(engine, *requests)
        assert engine.stats.num_free_blocks == 24
    assert engine.stats.prefix_cache_hits >= 1999 * 32
    longest = make_request("longest", [3] * (engine.info.max_model_len - 1), max_tokens=10)
    assert len(tokens(run(engine, longest)["longest"])) == 1


@pytest.mark.parametrize("num_steps", [0, 1, 2, 3, 5])
def test_C3_03_after_an_abort_only_computed_blocks_are_found(
    make_engine: MakeEngine, run: Run, make_request: MakeRequest, num_steps: int
) -> None:
    prompt = text(100)
    expected = tokens(run(make_engine(), make_request("a", prompt))["a"])
    engine = make_engine(block_size=BLOCK_SIZE, max_num_batched_tokens=40)
    engine.add(make_request("a", prompt, max_tokens=50))
    for _ in range(num_steps):
        engine.step()
    engine.abort("a")
    engine.check_invariants()
    after = run(engine, make_request("b", prompt))["b"]
    assert tokens(after) == expected
    assert cached(after) == min(40 * num_steps, 99) // BLOCK_SIZE * BLOCK_SIZE


@pytest.mark.parametrize("backend", ["paged", "dense"])
def test_children_of_one_prompt_share_its_blocks_in_the_very_first_step(
    make_engine: MakeEngine, run: Run, make_request: MakeRequest, backend: str
) -> None:
    """The first computes, the others read what the same step writes."""
    prompt = text(100)
    children = [make_request(str(i), prompt, temperature=0.9, seed=i, max_tokens=12) for i in range(4)]
    plain = make_engine(enable_prefix_caching=False)
    expected = {child.request_id: tokens(run(plain, child)[child.request_id]) for child in children}
    engine = make_engine(block_size=BLOCK_SIZE, attention_backend=backend)
    for child in children:
        engine.add(child)
    first = engine.step()
    assert engine.stats.step_tokens == 100 + 3 * 4
    assert engine.stats.num_blocks - engine.stats.num_free_blocks == 6 + 4
    assert [output.num_cached_tokens for output in first] == [0, 96, 96, 96]
    found = {output.request_id: list(output.token_ids) for output in first}
    while engine.has_work:
        for output in engine.step():
            found[output.request_id] += output.token_ids
    assert found == expected


def test_C3_01_children_that_leave_one_by_one_take_nothing_from_the_rest(
    small: Engine, make_request: MakeRequest
) -> None:
    for name in "abcd":
        small.add(make_request(name, text(64), max_tokens=50))
    small.step()
    for name in "adcb":
        small.step()
        small.abort(name)
        small.check_invariants()
    assert small.stats.num_free_blocks == small.stats.num_blocks


def test_H7_another_salt_finds_nothing(small: Engine, run: Run, make_request: MakeRequest) -> None:
    """And computes as many tokens as for a prompt that nobody has sent: no step tells a tenant of another."""
    plain = make_request("a", text(100))
    steps = {}
    for salt in (None, "red", "blue"):
        request = msgspec.structs.replace(plain, cache_salt=salt)
        small.add(request)
        (output, *_) = small.step()
        steps[salt] = (small.stats.step_tokens, output.num_cached_tokens)
        small.abort("a")
        assert cached(run(small, request)["a"]) == 96, "one's own salt finds"
    assert set(steps.values()) == {(100, 0)}


def test_usage_and_counters_are_true_under_preemption(
    make_engine: MakeEngine, run: Run, make_request: MakeRequest
) -> None:
    """A sequence that comes back finds its own blocks; that is no hit, and no prompt is counted twice."""
    engine = make_engine(block_size=4, num_gpu_blocks_override=24)
    outputs = run(engine, *(make_request(str(i), text(16, i), max_tokens=24) for i in range(4)))
    stats = engine.stats
    assert stats.num_preemptions == sum(parts[-1].num_preemptions for parts in outputs.values()) > 0
    assert {cached(parts) for parts in outputs.values()} == {0}
    assert (stats.prompt_tokens, stats.generation_tokens) == (64, 96)
    assert (stats.prefix_cache_queries, stats.prefix_cache_hits, stats.prompt_tokens_cached) == (64, 0, 0)


def test_a_preempted_sequence_computes_only_what_others_overwrote(
    make_engine: MakeEngine, make_request: MakeRequest
) -> None:
    """Without the cache the same pressure costs more computed tokens."""
    computed = {}
    for caching in (True, False):
        engine = make_engine(block_size=4, num_gpu_blocks_override=24, enable_prefix_caching=caching)
        for index in range(3):
            engine.add(make_request(str(index), text(24, index), max_tokens=12))
        computed[caching] = 0
        while engine.has_work:
            engine.step()
            computed[caching] += engine.stats.step_tokens
        assert engine.stats.num_preemptions > 0
    assert computed[True] < computed[False]


def test_hits_are_counted_once_the_sequence_runs_and_cached_prompts_once_it_answers(
    make_engine: MakeEngine, run: Run, make_request: MakeRequest
) -> None:
    engine = make_engine(block_size=BLOCK_SIZE, max_num_batched_tokens=16, max_num_seqs=1)
    run(engine, make_request("a", text(64)))
    assert (engine.stats.prefix_cache_queries, engine.stats.prefix_cache_hits) == (64, 0)
    engine.add(make_request("b", text(64) + text(30, 1), max_tokens=4))
    engine.add(make_request("c", text(64), max_tokens=4))
    engine.step()
    assert (engine.stats.prefix_cache_queries, engine.stats.prefix_cache_hits) == (158, 64)
    assert (engine.stats.prompt_tokens, engine.stats.prompt_tokens_cached) == (64, 0), "its prefill goes on"
    engine.step()
    assert (engine.stats.prompt_tokens, engine.stats.prompt_tokens_cached) == (158, 64)
    while engine.has_work:
        engine.step()
    assert (engine.stats.prefix_cache_queries, engine.stats.prefix_cache_hits) == (222, 112)
    assert (engine.stats.prompt_tokens, engine.stats.prompt_tokens_cached) == (222, 112)


def test_after_a_reset_every_prompt_is_computed_anew(
    small: Engine, run: Run, make_request: MakeRequest
) -> None:
    request = make_request("a", text(64))
    answer = tokens(run(small, request)["a"])
    small.add(make_request("other", text(64), max_tokens=20))
    small.step()
    small.reset_prefix_cache()
    small.check_invariants()
    assert small.abort("other"), "it went on with what it had"
    after = run(small, request)["a"]
    assert (cached(after), tokens(after)) == (0, answer)
    assert cached(run(small, request)["a"]) == 48
