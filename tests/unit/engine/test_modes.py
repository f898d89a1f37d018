"""Static batching, contiguous reservation, no KV cache: what each does to a schedule, and the same tokens."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from support.scheduler_step import step

from reference_server.engine.block_manager import BlockManager
from reference_server.engine.engine import Engine
from reference_server.engine.errors import EngineConfigError
from reference_server.engine.request import EngineOutput, EngineRequest
from reference_server.engine.scheduler import Scheduler, SchedulerConfig
from reference_server.engine.sequence import Sequence

MakeEngine = Callable[..., Engine]
MakeRequest = Callable[..., EngineRequest]
MakeSequence = Callable[..., Sequence]
Run = Callable[..., dict[str, list[EngineOutput]]]


def make_scheduler(num_blocks: int = 64, budget: int = 16, max_num_seqs: int = 8, **modes: Any) -> Scheduler:
    config = SchedulerConfig(
        max_num_seqs=max_num_seqs,
        max_num_batched_tokens=budget,
        max_model_len=modes.pop("max_model_len", num_blocks * 4),
        watermark_blocks=1,
        **modes,
    )
    return Scheduler(config, BlockManager(num_blocks, 4, enable_prefix_caching=False))


def end(scheduler: Scheduler, *names: str) -> None:
    for sequence in [s for s in scheduler.running if s.request_id in names]:
        scheduler.remove(sequence)
    scheduler.check_invariants()


def test_a_static_batch_lets_nobody_in_before_its_last_sequence_has_ended(
    make_sequence: MakeSequence,
) -> None:
    scheduler = make_scheduler(batching="static")
    for name in "ab":
        scheduler.add(make_sequence(name, 2))
    assert step(scheduler) == {"a": 2, "b": 2}
    scheduler.add(make_sequence("c", 2))
    assert step(scheduler) == {"a": 1, "b": 1}
    end(scheduler, "a")
    assert step(scheduler) == {"b": 1}
    end(scheduler, "b")
    assert step(scheduler) == {"c": 2}


def test_an_ended_sequence_of_a_static_batch_holds_its_place_and_its_blocks(
    make_sequence: MakeSequence,
) -> None:
    scheduler = make_scheduler(batching="static")
    for name in "ab":
        scheduler.add(make_sequence(name, 2, max_tokens=3))
    step(scheduler)
    free = scheduler.blocks.num_free_blocks
    end(scheduler, "a")
    assert (scheduler.blocks.num_free_blocks, len(scheduler.held)) == (free, 1)
    assert step(scheduler) == {"b": 1}
    assert scheduler.num_step_padding_tokens == 1
    end(scheduler, "b")
    assert (scheduler.blocks.num_free_blocks, scheduler.held) == (64, [])


def test_the_prompts_of_a_static_batch_are_padded_to_the_longest_and_nobody_decodes_before(
    make_sequence: MakeSequence,
) -> None:
    scheduler = make_scheduler(batching="static", budget=8)
    scheduler.add(make_sequence("a", 9))
    scheduler.add(make_sequence("b", 2))
    steps, padding = [], []
    for _ in range(4):
        steps.append(step(scheduler))
        padding.append(scheduler.num_step_padding_tokens)
    assert steps == [{"a": 4, "b": 2}, {"a": 4}, {"a": 1}, {"a": 1, "b": 1}]
    assert padding == [2, 4, 1, 0]
    assert sum(map(len, steps[:3])) + sum(padding) <= 2 * 9 + 4


def test_without_chunks_a_static_batch_is_what_a_step_holds(make_sequence: MakeSequence) -> None:
    scheduler = make_scheduler(batching="static", budget=16, enable_chunked_prefill=False)
    for name, length in (("a", 4), ("b", 6), ("c", 6)):
        scheduler.add(make_sequence(name, length))
    assert step(scheduler) == {"a": 4, "b": 6}
    assert scheduler.num_step_padding_tokens == 2


def test_contiguous_reservation_admits_as_many_as_have_room_for_the_longest(
    make_sequence: MakeSequence,
) -> None:
    admitted = {}
    for allocation in ("paged", "contiguous"):
        scheduler = make_scheduler(num_blocks=16, budget=64, kv_allocation=allocation, max_model_len=20)
        for index in range(8):
            scheduler.add(make_sequence(str(index), 3, max_tokens=5))
        step(scheduler)
        admitted[allocation] = len(scheduler.running), scheduler.blocks.num_free_blocks
    assert admitted == {"paged": (8, 8), "contiguous": (3, 1)}


def test_without_a_cache_an_answer_computes_the_sum_of_its_lengths(make_sequence: MakeSequence) -> None:
    scheduler = make_scheduler(kv_cache="off", budget=64)
    sequence = make_sequence("a", 5)
    scheduler.add(sequence)
    counts = []
    for _ in range(6):
        counts += step(scheduler).values()
    assert counts == [5, 6, 7, 8, 9, 10]


def test_without_a_cache_a_sequence_beyond_the_budget_takes_several_steps_for_a_token(
    make_sequence: MakeSequence,
) -> None:
    scheduler = make_scheduler(kv_cache="off", budget=8)
    scheduler.add(make_sequence("a", 10))
    assert [step(scheduler)["a"] for _ in range(4)] == [8, 2, 8, 3]


NGRAM = {"method": "ngram", "num_speculative_tokens": 3, "adaptive": False}
CASES: dict[str, dict[str, Any]] = {
    "static": {"batching": "static"},
    "static, few at once": {"batching": "static", "max_num_seqs": 3},
    "static, chunked": {"batching": "static", "max_num_batched_tokens": 20},
    "static, whole prompts": {
        "batching": "static", "max_num_batched_tokens": 80, "enable_chunked_prefill": False
    },
    "static, contiguous": {"batching": "static", "kv_allocation": "contiguous", "max_model_len": 128},
    "static, contiguous, no cache": {
        "batching": "static", "kv_allocation": "contiguous", "kv_cache": "off", "max_model_len": 128
    },
    "static, no cache": {"batching": "static", "kv_cache": "off", "max_num_batched_tokens": 90},
    "static, drafts": {"batching": "static", "speculative_config": NGRAM},
    "static, small blocks": {"batching": "static", "block_size": 4, "num_gpu_blocks_override": 64},
    "contiguous": {"kv_allocation": "contiguous", "max_model_len": 128},
    "contiguous, drafts": {
        "kv_allocation": "contiguous", "max_model_len": 128, "speculative_config": NGRAM
    },
    "contiguous, little room": {
        "kv_allocation": "contiguous", "max_model_len": 128, "block_size": 16, "num_gpu_blocks_override": 20
    },
    "no cache": {"kv_cache": "off"},
    "no cache, chunked": {"kv_cache": "off", "max_num_batched_tokens": 40},
    "no cache, preempted": {"kv_cache": "off", "block_size": 4, "num_gpu_blocks_override": 32},
    "no prefix cache": {"enable_prefix_caching": False},
    "no prefix cache, drafts": {"enable_prefix_caching": False, "speculative_config": NGRAM},
}  # fmt: skip


@pytest.fixture(scope="module")
def requests(make_request: MakeRequest) -> list[EngineRequest]:
    """Greedy and seeded requests of mixed lengths, two with the same prompt."""
    rng = random.Random(7)
    found = []
    for index, length in enumerate((1, 3, 16, 17, 33, 50, 33, 8)):
        prompt = [rng.randrange(2, 258) for _ in range(length)]
        if index == 6:
            prompt = list(found[4].prompt_token_ids)
        sampling: dict[str, Any] = {"max_tokens": rng.randint(1, 24)}
        if index % 2:
            sampling |= {"temperature": 0.9, "seed": index, "top_p": 0.95}
        found.append(make_request(str(index), prompt, **sampling))
    return found


def tokens(outputs: dict[str, list[EngineOutput]]) -> dict[str, list[int]]:
    return {name: [t for part in parts for t in part.token_ids] for name, parts in outputs.items()}


@pytest.fixture(scope="module")
def expected(engine: Engine, run: Run, requests: list[EngineRequest]) -> dict[str, list[int]]:
    """Every request by itself, in the usual way."""
    return {r.request_id: tokens(run(engine, r))[r.request_id] for r in requests}


@pytest.mark.parametrize("case", CASES)
def test_tokens_are_the_same_in_every_way_of_working(
    case: str,
    make_engine: MakeEngine,
    run: Run,
    requests: list[EngineRequest],
    expected: dict[str, list[int]],
) -> None:
    engine = make_engine(**CASES[case])

    assert tokens(run(engine, *requests)) == expected

    stats = engine.stats
    assert (stats.num_running, stats.num_waiting, stats.num_held) == (0, 0, 0)
    assert stats.num_free_blocks == stats.num_blocks
    assert stats.generation_tokens == sum(map(len, expected.values()))
    assert (stats.padding_tokens > 0) == ("static" in case)
    assert (stats.num_preemptions > 0) == ("preempted" in case)
    assert stats.prompt_tokens_cached == 0 or "no" not in case


def test_without_a_cache_the_tokens_computed_are_told_truly(
    make_engine: MakeEngine, make_request: MakeRequest
) -> None:
    engine = make_engine(kv_cache="off")
    engine.add(make_request("a", [5, 6, 7], max_tokens=4))
    computed = []
    while engine.has_work:
        engine.step()
        computed.append(engine.stats.step_tokens)
    assert computed == [3, 4, 5, 6]
    assert (engine.stats.prompt_tokens, engine.stats.generation_tokens) == (3, 4)
    assert engine.info.enable_prefix_caching is False
    assert any("enable_prefix_caching does not apply with kv_cache off" in n for n in engine.info.notes)


def test_an_aborted_member_of_a_static_batch_leaves_with_its_batch(
    make_engine: MakeEngine, make_request: MakeRequest
) -> None:
    engine = make_engine(batching="static")
    for name in "ab":
        engine.add(make_request(name, max_tokens=4))
    engine.step()
    engine.abort("a")
    engine.check_invariants()
    assert (engine.stats.num_running, engine.stats.num_held) == (1, 1)
    engine.abort("b")
    engine.check_invariants()
    assert (engine.stats.num_held, engine.stats.num_free_blocks) == (0, engine.stats.num_blocks)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batching": "dynamic"}, "batching 'dynamic' is not known; say continuous or static"),
        ({"kv_allocation": "slab"}, "kv_allocation 'slab' is not known; say contiguous or paged"),
        ({"kv_cache": "none"}, "kv_cache 'none' is not known; say off or on"),
        ({"kv_cache": "off", "speculative_config": NGRAM}, "leave it out, or kv_cache on"),
        ({"kv_cache": "off", "enable_chunked_prefill": False}, "or enable_chunked_prefill on"),
    ],
)
def test_ways_that_are_not_there_or_do_not_go_together_are_refused(
    make_engine: MakeEngine, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(EngineConfigError, match=message):
        make_engine(**settings)
