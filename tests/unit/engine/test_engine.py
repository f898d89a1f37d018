"""The whole engine on ``tiny-random`` in float32: the same tokens under any pressure, and clean ends."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from support.abort_storm import abort_storm

from reference_server.engine.engine import Engine
from reference_server.engine.errors import InvalidRequestError, RequestError, RequestTooLargeError
from reference_server.engine.request import EngineOutput, EngineRequest

MakeEngine = Callable[..., Engine]
MakeRequest = Callable[..., EngineRequest]
Run = Callable[..., dict[str, list[EngineOutput]]]


def tokens(outputs: list[EngineOutput]) -> list[int]:
    return [token_id for output in outputs for token_id in output.token_ids]


@pytest.fixture(scope="module")
def mixed_requests(make_request: MakeRequest) -> list[EngineRequest]:
    """Greedy and seeded requests of all lengths."""
    rng = random.Random(5)
    requests = []
    for index in range(12):
        prompt = [rng.randrange(2, 258) for _ in range(rng.choice([1, 3, 15, 16, 17, 31, 32, 33, 70]))]
        sampling: dict[str, Any] = {"max_tokens": rng.randint(1, 40)}
        if index % 2:
            sampling |= {"temperature": 0.9, "seed": index, "top_p": 0.95}
        requests.append(make_request(str(index), prompt, **sampling))
    return requests


@pytest.fixture(scope="module")
def answers_alone(engine: Engine, run: Run, mixed_requests: list[EngineRequest]) -> dict[str, list[int]]:
    """Every request by itself."""
    return {
        request.request_id: tokens(run(engine, request)[request.request_id]) for request in mixed_requests
    }


CASES: dict[str, dict[str, Any]] = {
    "batched": {},
    "chunked": {"max_num_batched_tokens": 7},
    "whole prompts": {"max_num_batched_tokens": 20, "enable_chunked_prefill": False},
    "few at once": {"max_num_seqs": 3},
    "small blocks": {"block_size": 1, "num_gpu_blocks_override": 2000},
    "preempted": {"block_size": 4, "num_gpu_blocks_override": 32},
    "preempted and chunked": {"block_size": 4, "num_gpu_blocks_override": 32, "max_num_batched_tokens": 9},
    "slow specification": {"attention_backend": "dense"},
}


@pytest.mark.parametrize("case", CASES)
def test_tokens_are_the_same_alone_and_under_any_pressure(
    case: str,
    make_engine: MakeEngine,
    run: Run,
    mixed_requests: list[EngineRequest],
    answers_alone: dict[str, list[int]],
) -> None:
    engine = make_engine(**CASES[case])

    outputs = run(engine, *mixed_requests)

    assert {request_id: tokens(parts) for request_id, parts in outputs.items()} == answers_alone
    assert (engine.stats.num_preemptions > 0) == ("preempted" in case)
    assert engine.stats.num_free_blocks == engine.stats.num_blocks


@pytest.mark.parametrize(
    "neighbours", [[], [{"seed": 1}], [{"seed": 42}], [{"temperature": 0.0}, {"seed": 7}]], ids=str
)
def test_c4_01_a_seeded_answer_does_not_depend_on_its_neighbours(
    engine: Engine, run: Run, make_request: MakeRequest, neighbours: list[dict[str, Any]]
) -> None:
    seeded = make_request("a", seed=42, temperature=0.8, max_tokens=24)
    others = [make_request(f"n{i}", **({"temperature": 0.8} | n)) for i, n in enumerate(neighbours)]
    alone = tokens(run(engine, seeded)["a"])
    assert tokens(run(engine, seeded, *others)["a"]) == alone
    assert tokens(run(engine, *others, seeded)["a"]) == alone


def test_c4_06_a_seed_outlives_a_restart_and_other_seeds_differ(
    make_engine: MakeEngine, run: Run, make_request: MakeRequest
) -> None:
    requests = [make_request(str(seed), seed=seed, temperature=1.0, max_tokens=16) for seed in range(5)]
    first, second = (run(make_engine(), *requests) for _ in range(2))
    answers = {request_id: tokens(parts) for request_id, parts in first.items()}
    assert answers == {request_id: tokens(parts) for request_id, parts in second.items()}
    assert len({tuple(answer) for answer in answers.values()}) == 5


def test_c3_03_after_an_abort_in_mid_prefill_the_same_prompt_is_answered_as_if_cold(
    make_engine: MakeEngine, run: Run, make_request: MakeRequest
) -> None:
    prompt = [2 + i % 200 for i in range(100)]
    expected = tokens(run(make_engine(), make_request("a", prompt))["a"])
    engine = make_engine(max_num_batched_tokens=40)
    engine.add(make_request("a", prompt))
    engine.step()
    aborted = engine.abort("a")
    assert aborted is not None
    assert (aborted.finish_reason, aborted.token_ids) == ("abort", [])
    assert tokens(run(engine, make_request("b", prompt))["b"]) == expected


@pytest.mark.parametrize("prompt_len", [1, 16, 31, 32, 33])
def test_c3_05_prompts_at_the_edges_of_blocks(
    make_engine: MakeEngine, run: Run, make_request: MakeRequest, prompt_len: int
) -> None:
    prompt = list(range(2, prompt_len + 2))
    small = make_engine(block_size=16)
    first, second = (tokens(run(small, make_request(name, prompt))[name]) for name in "ab")
    assert first == second == tokens(run(make_engine(block_size=64), make_request("c", prompt))["c"])


def test_c3_01_after_many_requests_the_pool_is_whole_and_a_longest_one_still_fits(
    make_engine: MakeEngine, run: Run, make_request: MakeRequest
) -> None:
    engine = make_engine(block_size=16, num_gpu_blocks_override=24, max_num_seqs=16)
    run(engine, *(make_request(str(i), [9] * 20 + [2 + i % 250], max_tokens=2) for i in range(300)))
    assert engine.stats.num_free_blocks == engine.stats.num_blocks == 24
    longest = make_request("longest", [3] * (engine.info.max_model_len - 1), max_tokens=10)
    assert len(tokens(run(engine, longest)["longest"])) == 1


@pytest.mark.parametrize("num_steps", [0, 1, 5])
def test_c2_03_an_abort_frees_blocks_at_once_and_is_reported_once(
    make_engine: MakeEngine, make_request: MakeRequest, num_steps: int
) -> None:
    engine = make_engine()
    engine.add(make_request("a", max_tokens=100))
    for _ in range(num_steps):
        engine.step()
    output = engine.abort("a")
    assert output is not None
    assert output.finish_reason == "abort"
    assert engine.stats.num_free_blocks == engine.stats.num_blocks
    assert not engine.has_work
    assert engine.abort("a") is None
    assert engine.step() == []


def test_an_abort_storm_leaves_the_rest_untouched(
    make_engine: MakeEngine,
    run: Run,
    mixed_requests: list[EngineRequest],
    answers_alone: dict[str, list[int]],
) -> None:
    engine = make_engine(block_size=4, num_gpu_blocks_override=40)
    abort_storm(engine, mixed_requests, num_blocks=40)
    outputs = run(engine, *mixed_requests)
    assert {request_id: tokens(parts) for request_id, parts in outputs.items()} == answers_alone


def test_the_last_output_alone_says_why_it_ended(engine: Engine, run: Run, make_request: MakeRequest) -> None:
    outputs = run(engine, make_request(max_tokens=5))["a"]
    assert [output.finish_reason for output in outputs] == [None] * 4 + ["length"]


@pytest.mark.parametrize("max_tokens", [1, 2])
def test_c5_10_max_tokens_is_exact(
    engine: Engine, run: Run, make_request: MakeRequest, max_tokens: int
) -> None:
    outputs = run(engine, make_request(max_tokens=max_tokens))["a"]
    assert len(tokens(outputs)) == max_tokens
    assert outputs[-1].finish_reason == "length"


def test_an_end_token_ends_and_is_counted(engine: Engine, run: Run, make_request: MakeRequest) -> None:
    wish = {"logit_bias": {1: 2000.0}}
    outputs = run(engine, make_request(ignore_eos=False, **wish))["a"]
    assert tokens(outputs) == [1]
    assert (outputs[-1].finish_reason, outputs[-1].stop_reason) == ("stop", None)
    assert len(tokens(run(engine, make_request(ignore_eos=True, **wish))["a"])) == 8


def test_a_stop_token_ends_and_is_named(engine: Engine, run: Run, make_request: MakeRequest) -> None:
    outputs = run(engine, make_request(stop_token_ids=(99,), min_tokens=3, logit_bias={99: 2000.0}))["a"]
    assert len(tokens(outputs)) == 4
    assert (outputs[-1].finish_reason, outputs[-1].stop_reason) == ("stop", 99)


def test_a_sequence_ends_at_max_model_len(
    make_engine: MakeEngine, run: Run, make_request: MakeRequest
) -> None:
    engine = make_engine(max_model_len=20)
    outputs = run(engine, make_request("a", [5] * 15, max_tokens=100))["a"]
    assert len(tokens(outputs)) == 5
    assert outputs[-1].finish_reason == "length"


def test_a_prompt_without_room_for_output_is_refused(
    make_engine: MakeEngine, run: Run, make_request: MakeRequest
) -> None:
    engine = make_engine(max_model_len=20)
    with pytest.raises(RequestTooLargeError, match=r"20 tokens.*20.*shorten"):
        engine.add(make_request("a", [5] * 20))
    assert not engine.has_work
    assert run(engine, make_request("b", [5] * 19))["b"][-1].finish_reason == "length"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_tokens": -1}, "max_tokens is -1"),
        ({"logit_bias": {999_999: 1.0}}, "logit_bias holds token id 999999"),
        ({"logit_bias": {-1: 1.0}}, "logit_bias holds token id -1"),
        ({"stop_token_ids": (512,)}, "stop_token_ids holds token id 512"),
    ],
)
def test_c5_11_unknown_ids_are_refused_by_name_and_the_engine_lives(
    engine: Engine, run: Run, make_request: MakeRequest, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidRequestError, match=message):
        engine.add(make_request("bad", **change))
    assert tokens(run(engine, make_request("good"))["good"])


@pytest.mark.parametrize("prompt", [[], [512], [-1]])
def test_c5_01_an_empty_or_unknown_prompt_is_refused_and_the_engine_lives(
    engine: Engine, run: Run, make_request: MakeRequest, prompt: list[int]
) -> None:
    good = make_request("good")
    with pytest.raises(RequestError, match="prompt"):
        engine.add(EngineRequest(request_id="bad", prompt_token_ids=prompt, sampling=good.sampling))
    assert tokens(run(engine, good)["good"])


def test_c2_05_a_live_id_is_refused_and_the_first_goes_on(
    engine: Engine, run: Run, make_request: MakeRequest
) -> None:
    engine.add(make_request("a", max_tokens=4))
    with pytest.raises(InvalidRequestError, match="'a' is being served"):
        engine.add(make_request("a", max_tokens=4))
    assert sum(len(output.token_ids) for _ in range(4) for output in engine.step()) == 4
    assert tokens(run(engine, make_request("a"))["a"])


def test_logprobs_do_not_depend_on_preemption(
    make_engine: MakeEngine, run: Run, make_request: MakeRequest
) -> None:
    requests = [make_request(str(i), [2 + i] * 10, logprobs=2, max_tokens=20) for i in range(4)]
    tight = make_engine(block_size=4, num_gpu_blocks_override=16)
    roomy, squeezed = run(make_engine(), *requests), run(tight, *requests)
    assert tight.stats.num_preemptions > 0
    for request_id, outputs in roomy.items():
        for left, right in zip(outputs, squeezed[request_id], strict=True):
            assert left.logprobs is not None
            assert right.logprobs is not None
            assert left.logprobs[0].logprob == pytest.approx(right.logprobs[0].logprob, abs=1e-4)


def test_counters_tell_what_happened(make_engine: MakeEngine, run: Run, make_request: MakeRequest) -> None:
    """Prompts count once, however often they are recomputed."""
    engine = make_engine(block_size=4, num_gpu_blocks_override=16)
    outputs = run(engine, *(make_request(str(i), [2 + i] * 10, max_tokens=20) for i in range(4)))
    stats = engine.stats
    assert (stats.prompt_tokens, stats.generation_tokens) == (40, 80)
    assert stats.num_preemptions == sum(parts[-1].num_preemptions for parts in outputs.values()) > 0
    assert (stats.num_running, stats.num_waiting) == (0, 0)
    assert stats.num_steps > 20


def test_times_are_in_order(engine: Engine, run: Run, make_request: MakeRequest) -> None:
    outputs = run(engine, make_request(max_tokens=3))["a"]
    assert 0 < outputs[0].scheduled_ns < outputs[0].first_token_ns
    assert {output.first_token_ns for output in outputs} == {outputs[0].first_token_ns}
    assert engine.stats.last_step_ns > outputs[0].first_token_ns
