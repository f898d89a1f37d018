"""The engine on the device: graphs, eager steps and the specification, under pressure and aborts."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch

from reference_server.engine.engine import Engine
from reference_server.engine.graph_runner import GraphRunner
from reference_server.engine.request import EngineRequest

pytestmark = pytest.mark.gpu

MakeEngine = Callable[..., Engine]
MakeRequest = Callable[..., EngineRequest]


def run(engine: Engine, requests: list[EngineRequest]) -> dict[str, list[int]]:
    answers: dict[str, list[int]] = {request.request_id: [] for request in requests}
    for request in requests:
        engine.add(request)
    for _ in range(10_000):
        if not engine.has_work:
            break
        for output in engine.step():
            answers[output.request_id] += output.token_ids
        engine.check_invariants()
    assert not engine.has_work
    assert engine.stats.num_free_blocks == engine.stats.num_blocks
    return answers


@pytest.fixture(scope="module")
def requests(make_request: MakeRequest) -> list[EngineRequest]:
    """Greedy and seeded, prompts at the edges of blocks."""
    rng = random.Random(5)
    made = []
    for index in range(20):
        length = rng.choice([1, 3, 15, 16, 17, 31, 32, 33, 70, 200])
        wishes: dict[str, Any] = {"max_tokens": rng.randint(1, 40)}
        if index % 3 == 2:
            wishes |= {"temperature": 0.9, "seed": index, "top_p": 0.95, "top_k": 50}
        made.append(make_request(str(index), [rng.randrange(2, 258) for _ in range(length)], **wishes))
    return made


@pytest.fixture(scope="module")
def expected(make_engine: MakeEngine, requests: list[EngineRequest]) -> dict[str, list[int]]:
    """By the slow specification, in float32 on the CPU."""
    return run(make_engine(device="cpu", attention_backend="dense", cpu_threads=4), requests)


CASES: dict[str, dict[str, Any]] = {
    "graph": {},
    "eager": {"enforce_eager": True},
    "torch": {"attention_backend": "paged"},
    "chunked": {"max_num_batched_tokens": 16},
    "preempted": {"block_size": 4, "num_gpu_blocks_override": 64},
    "odd blocks": {"block_size": 5},
    "few at once": {"max_num_seqs": 3},
    "static": {"batching": "static", "max_num_seqs": 6},
    "contiguous": {"kv_allocation": "contiguous", "max_model_len": 256},
    "no cache": {"kv_cache": "off"},
    "drafts": {
        "speculative_config": {
            "method": "ngram",
            "num_speculative_tokens": 3,
            "prompt_lookup_min": 1,
            "prompt_lookup_max": 2,
            "adaptive": False,
        }
    },
    "a draft model": {
        "speculative_config": {
            "method": "draft_model",
            "model": "tiny-random",
            "num_speculative_tokens": 3,
            "draft_sample_method": "seeded",
            "adaptive": False,
        }
    },
}


@pytest.mark.parametrize("case", CASES)
def test_float32_tokens_are_those_of_the_specification(
    case: str, make_engine: MakeEngine, requests: list[EngineRequest], expected: dict[str, list[int]]
) -> None:
    """Matrix products are summed in another order than on a CPU: a near tie may turn one answer of twenty."""
    engine = make_engine(**CASES[case])
    found = run(engine, requests)
    wrong = [name for name in expected if found[name] != expected[name]]
    assert len(wrong) <= 1, wrong
    assert (engine.stats.num_preemptions > 0) == (case == "preempted")


def test_bfloat16_text_is_the_same_eager_and_by_graph(
    make_engine: MakeEngine, make_request: MakeRequest
) -> None:
    """Eight sequences fill a graph of eight, so both multiply matrices of the same shapes."""
    requests = [make_request(str(i), [2 + i] * (5 + i), max_tokens=48) for i in range(8)]
    settings: dict[str, Any] = {"dtype": "bfloat16", "max_num_seqs": 8}
    by_graph = run(make_engine(**settings), requests)
    assert by_graph == run(make_engine(**settings, enforce_eager=True), requests)


def test_decoding_runs_by_graph(
    make_engine: MakeEngine, make_request: MakeRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, eager_steps = make_engine(max_num_seqs=4), []
    runner = engine._computing._runner
    assert isinstance(runner, GraphRunner)
    eagerly = runner._run_eagerly
    monkeypatch.setattr(
        runner, "_run_eagerly", lambda *arguments: eager_steps.append(1) or eagerly(*arguments)
    )
    run(engine, [make_request(str(i), [5, 6, 7], max_tokens=30) for i in range(3)])
    assert 0 < len(eager_steps) <= 3


def test_an_abort_storm_leaves_the_rest_untouched(
    make_engine: MakeEngine, requests: list[EngineRequest]
) -> None:
    engine, rng = make_engine(block_size=4, num_gpu_blocks_override=200), random.Random(0)
    before = run(engine, requests)
    for _ in range(20):
        for request in requests:
            engine.add(request)
        for _ in range(rng.randint(0, 12)):
            engine.step()
        for request in rng.sample(requests, len(requests)):
            engine.abort(request.request_id)
            engine.check_invariants()
        assert engine.stats.num_free_blocks == 200
    after = run(engine, requests)
    assert sum(after[name] != before[name] for name in before) <= 1


def test_steps_do_not_wait_for_the_device_but_once(
    make_engine: MakeEngine, make_request: MakeRequest
) -> None:
    """Torch raises at whatever waits for all of the device; reading tokens waits for an event alone."""
    engine = make_engine(max_num_seqs=4)
    for index in range(3):
        engine.add(make_request(str(index), [5, 6, 7 + index], max_tokens=30, logprobs=2, temperature=0.5))
    for _ in range(3):
        engine.step()
    torch.cuda.set_sync_debug_mode("error")
    try:
        outputs = [output for _ in range(10) for output in engine.step()]
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert len(outputs) == 30


def test_memory_does_not_grow(make_engine: MakeEngine, requests: list[EngineRequest]) -> None:
    engine = make_engine()
    run(engine, requests)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    for _ in range(5):
        run(engine, requests)
    assert torch.cuda.memory_allocated() < before + (1 << 20)


def test_the_pool_follows_gpu_memory_utilization(make_engine: MakeEngine) -> None:
    """A tenth of what is free goes to the pool; twice the share makes more blocks."""
    free, total = torch.cuda.mem_get_info()
    used = 1 - free / total
    settings: dict[str, Any] = {"num_gpu_blocks_override": None, "enforce_eager": True, "max_num_seqs": 2}
    shares = [used + 0.05 * (1 - used), used + 0.1 * (1 - used)]
    sizes = []
    for share in shares:
        engine = make_engine(**settings, gpu_memory_utilization=share)
        sizes.append(engine.info.num_blocks)
        del engine
        torch.cuda.empty_cache()
    assert 0 < sizes[0] < sizes[1]
