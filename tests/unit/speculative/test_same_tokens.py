"""With drafts and without: the same tokens, ends and log-probabilities, whatever presses on the engine."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.triton_interpreter import skip_unless_interpreted

from reference_server.engine.computing import StepByStep
from reference_server.engine.device_sampler import DeviceSampler
from reference_server.engine.engine import Engine
from reference_server.engine.graph_runner import GraphRunner
from reference_server.engine.request import EngineOutput, EngineRequest
from reference_server.kernels import gpu_kernels

MakeRequest = Callable[..., EngineRequest]
MakeEngine = Callable[..., Engine]
Answers = dict[str, list[EngineOutput]]
Run = Callable[..., Answers]
Tokens = Callable[[Answers], dict[str, list[int]]]

WISHES: tuple[dict[str, Any], ...] = (
    {},
    {"temperature": 0.9, "top_p": 0.95},
    {"repetition_penalty": 1.3},
    {"temperature": 0.7, "frequency_penalty": 0.5, "presence_penalty": 0.2},
    {"temperature": 1.0, "top_k": 5, "min_p": 0.01},
    {"logit_bias": {9: 3.0, 11: -5.0}},
)


@pytest.fixture(scope="module")
def mixed_requests(make_request: MakeRequest) -> list[EngineRequest]:
    """Requests of all lengths and wishes; every other prompt repeats itself."""
    rng = random.Random(5)
    requests = []
    for index in range(24):
        length = rng.choice([1, 3, 15, 16, 17, 31, 33, 70])
        phrase = [rng.randrange(2, 258) for _ in range(length if index % 2 else 4)]
        prompt = (phrase * length)[:length]
        wish = WISHES[index % len(WISHES)]
        requests.append(make_request(str(index), prompt, max_tokens=rng.randint(1, 60), seed=index, **wish))
    return requests


@pytest.fixture(scope="module")
def plain(make_engine: MakeEngine) -> Engine:
    """Drafts nothing."""
    return make_engine()


@pytest.fixture(scope="module")
def expected(
    plain: Engine, run: Run, tokens: Tokens, mixed_requests: list[EngineRequest]
) -> dict[str, list[int]]:
    """Every request by itself, token by token."""
    return {r.request_id: tokens(run(plain, r))[r.request_id] for r in mixed_requests}


CASES: dict[str, dict[str, Any]] = {
    "batched": {},
    "chunked": {"max_num_batched_tokens": 16, "max_num_seqs": 6},
    "whole prompts": {"max_num_batched_tokens": 20, "enable_chunked_prefill": False},
    "one at once": {"max_num_seqs": 1},
    "small blocks": {"block_size": 1, "num_gpu_blocks_override": 3000},
    "preempted": {"block_size": 4, "num_gpu_blocks_override": 40},
    "preempted and chunked": {"block_size": 4, "num_gpu_blocks_override": 40, "max_num_batched_tokens": 9},
    "preempted, no prefix cache": {
        "block_size": 4,
        "num_gpu_blocks_override": 40,
        "enable_prefix_caching": False,
    },
    "no prefix cache": {"enable_prefix_caching": False},
    "slow specification": {"attention_backend": "dense"},
}


QUICK_CASES = ("batched", "small blocks", "preempted and chunked")
"""Those that all methods go through in every run; with others than ngram the rest are soak tests."""


def _parameters() -> Iterator[Any]:
    for case in CASES:
        yield case, "ngram"
        for method in ("suffix", "draft_model"):
            yield pytest.param(case, method, marks=[] if case in QUICK_CASES else pytest.mark.soak)


@pytest.mark.parametrize(("case", "method"), list(_parameters()))
def test_C8_01_drafts_change_no_token(
    case: str,
    method: str,
    make_engine: MakeEngine,
    run: Run,
    tokens: Tokens,
    mixed_requests: list[EngineRequest],
    expected: dict[str, list[int]],
) -> None:
    """Greedy and seeded alike, with penalties and without."""
    engine = make_engine(3, method, **CASES[case])
    assert tokens(run(engine, *mixed_requests)) == expected
    assert engine.stats.num_drafts > 20
    assert 0 < sum(engine.stats.num_accepted_per_pos) < engine.stats.num_draft_tokens
    assert (engine.stats.num_preemptions > 0) == ("preempted" in case)


@pytest.mark.parametrize("num_drafted", range(1, 9))
def test_C8_01_drafts_of_any_length_change_no_token(
    num_drafted: int,
    make_engine: MakeEngine,
    run: Run,
    tokens: Tokens,
    with_oracle: Callable[..., Engine],
    mixed_requests: list[EngineRequest],
    expected: dict[str, list[int]],
) -> None:
    """By prompt lookup in little memory, then by one who is right five times of six."""
    tight = make_engine(num_drafted, block_size=4, num_gpu_blocks_override=60)
    assert tokens(run(tight, *mixed_requests)) == expected
    roomy = with_oracle(make_engine(num_drafted), expected, error_rate=1 / 6, num_drafted=num_drafted)
    assert tokens(run(roomy, *mixed_requests)) == expected
    stats = roomy.stats
    assert min(stats.num_accepted_per_pos) > 0
    assert sum(stats.num_accepted_per_pos) < 0.9 * stats.num_draft_tokens


def test_C8_03_exactly_max_tokens_are_sent_and_counted(
    make_engine: MakeEngine, run: Run, tokens: Tokens, with_oracle: Callable[..., Engine], plain: Engine,
    make_request: MakeRequest,
) -> None:  # fmt: skip
    answer = tokens(run(plain, make_request(max_tokens=20)))
    engine = with_oracle(make_engine(4), answer)
    for max_tokens in range(1, 13):
        before = engine.stats.generation_tokens
        outputs = run(engine, make_request(max_tokens=max_tokens))["a"]
        assert [t for output in outputs for t in output.token_ids] == answer["a"][:max_tokens]
        assert [output.finish_reason for output in outputs][-1] == "length"
        assert engine.stats.generation_tokens - before == max_tokens


@pytest.mark.parametrize("room", range(1, 12))
def test_C8_05_an_answer_ends_at_max_model_len(
    make_engine: MakeEngine, run: Run, tokens: Tokens, make_request: MakeRequest, room: int
) -> None:
    request = make_request("a", [5, 6, 7, 8] * 10, max_tokens=100)
    answers = {}
    for num_drafted in (0, 8):
        engine = make_engine(num_drafted, max_model_len=40 + room, block_size=4)
        outputs = run(engine, request)
        answers[num_drafted] = tokens(outputs)["a"]
        assert outputs["a"][-1].finish_reason == "length"
    assert answers[8] == answers[0]
    assert len(answers[8]) == room


def test_C8_06_drafts_that_are_always_right_are_all_accepted_and_counted(
    make_engine: MakeEngine, run: Run, tokens: Tokens, with_oracle: Callable[..., Engine], plain: Engine,
    make_request: MakeRequest,
) -> None:  # fmt: skip
    """A step gives the draft and one more token; the counters are those of usage."""
    request = make_request(max_tokens=51)
    engine = with_oracle(make_engine(4), tokens(run(plain, request)))
    outputs = run(engine, request)["a"]
    assert [len(output.token_ids) for output in outputs] == [1] + [5] * 10
    stats = engine.stats
    assert (stats.num_drafts, stats.num_draft_tokens) == (10, 40)
    assert stats.num_accepted_per_pos == (10, 10, 10, 10)
    assert stats.generation_tokens == 51 == 1 + stats.num_drafts + sum(stats.num_accepted_per_pos)
    assert stats.num_steps == 11


def test_every_token_is_counted_as_accepted_or_as_the_models_own(
    make_engine: MakeEngine, run: Run, with_oracle: Callable[..., Engine],
    mixed_requests: list[EngineRequest], expected: dict[str, list[int]],
) -> None:  # fmt: skip
    """Each output brings one token of the model's own, and what was accepted."""
    engine = with_oracle(make_engine(4), expected, error_rate=0.3)
    answers = run(engine, *mixed_requests)
    stats = engine.stats
    num_outputs = sum(len(outputs) for outputs in answers.values())
    assert stats.generation_tokens == num_outputs + sum(stats.num_accepted_per_pos)
    assert list(stats.num_accepted_per_pos) == sorted(stats.num_accepted_per_pos, reverse=True)


@pytest.mark.parametrize("stop_at", range(8))
def test_a_stop_token_within_a_draft_ends_there(
    make_engine: MakeEngine, run: Run, tokens: Tokens, with_oracle: Callable[..., Engine], plain: Engine,
    make_request: MakeRequest, stop_at: int,
) -> None:  # fmt: skip
    """What was accepted after it is neither sent nor counted."""
    free = make_request("a", list(range(40, 60)), temperature=1.0, max_tokens=20)
    answer = tokens(run(plain, free))
    stop = answer["a"][stop_at]
    stopping = make_request("a", list(range(40, 60)), temperature=1.0, max_tokens=20, stop_token_ids=(stop,))
    engine = with_oracle(make_engine(4), answer)
    outputs = run(engine, stopping)
    length = answer["a"].index(stop) + 1
    assert tokens(outputs)["a"] == answer["a"][:length]
    assert (outputs["a"][-1].finish_reason, outputs["a"][-1].stop_reason) == ("stop", stop)
    stats = engine.stats
    assert stats.generation_tokens == length
    assert sum(stats.num_accepted_per_pos) <= length - 1


def test_an_end_token_ends_after_min_tokens(
    make_engine: MakeEngine, run: Run, tokens: Tokens, with_oracle: Callable[..., Engine], plain: Engine,
    make_request: MakeRequest,
) -> None:  # fmt: skip
    """Barred before, likely after: a draft of end tokens is refused as long as they are barred."""
    request = make_request(min_tokens=6, logit_bias={1: 2000.0}, ignore_eos=False)
    answer = tokens(run(plain, request))
    assert answer["a"][-1] == 1
    assert len(answer["a"]) == 7
    for guess in (answer["a"], [1] * 10):
        engine = with_oracle(make_engine(4), {"a": guess})
        outputs = run(engine, request)
        assert tokens(outputs) == answer
        assert outputs["a"][-1].finish_reason == "stop"


def test_logprobs_are_those_without_drafts(
    make_engine: MakeEngine, run: Run, tokens: Tokens, with_oracle: Callable[..., Engine], plain: Engine,
    make_request: MakeRequest,
) -> None:  # fmt: skip
    """One for each token, none of them made up for what was accepted."""
    requests = [
        make_request(str(n), [2 + n] * 6, temperature=float(n % 2), seed=n, logprobs=3) for n in range(4)
    ]
    without = run(plain, *requests)
    engine = with_oracle(make_engine(4), tokens(without), error_rate=0.2)
    with_drafts = run(engine, *requests)
    assert sum(engine.stats.num_accepted_per_pos) > 0
    for request_id, outputs in without.items():
        left = [entry for output in outputs for entry in output.logprobs or ()]
        right = [entry for output in with_drafts[request_id] for entry in output.logprobs or ()]
        assert [entry.token_id for entry in right] == [entry.token_id for entry in left]
        assert [e.logprob for e in right] == pytest.approx([e.logprob for e in left], abs=1e-4)
        for mine, theirs in zip(right, left, strict=True):
            assert [t for t, _ in mine.top] == [t for t, _ in theirs.top]


def test_the_prefix_cache_holds_what_was_accepted(
    make_engine: MakeEngine, run: Run, tokens: Tokens, with_oracle: Callable[..., Engine], plain: Engine,
    make_request: MakeRequest,
) -> None:  # fmt: skip
    """A next turn finds as much of an answer as without drafts, and goes on from it with the same tokens."""
    first = make_request("a", [5, 6, 7, 8, 9], max_tokens=40)
    answer = tokens(run(plain, first))["a"]
    second = make_request("a", [5, 6, 7, 8, 9, *answer, 10, 11], max_tokens=12)
    found = {}
    for num_drafted in (0, 4):
        engine = make_engine(num_drafted, block_size=4)
        if num_drafted:
            with_oracle(engine, {"a": answer}, error_rate=0.2)
        run(engine, first)
        outputs = run(engine, second)
        found[num_drafted] = (outputs["a"][0].num_cached_tokens, tokens(outputs)["a"])
    assert found[4] == found[0]
    assert found[4][0] == 44


@pytest.mark.parametrize("num_steps", [1, 3, 6])
def test_an_abort_frees_blocks_at_once(
    make_engine: MakeEngine, make_request: MakeRequest, num_steps: int
) -> None:
    engine = make_engine(4)
    engine.add(make_request(max_tokens=100))
    for _ in range(num_steps):
        engine.step()
    output = engine.abort("a")
    assert output is not None
    assert output.finish_reason == "abort"
    assert engine.stats.num_free_blocks == engine.stats.num_blocks
    assert not engine.has_work


def test_without_a_draft_a_step_is_the_plain_one(make_engine: MakeEngine, make_request: MakeRequest) -> None:
    engine = make_engine(4)
    engine.add(make_request(prompt=[5], max_tokens=2))
    engine.step()
    engine.step()
    stats = engine.stats
    assert (stats.step_tokens, stats.num_drafts, stats.num_accepted_per_pos) == (1, 0, (0, 0, 0, 0))


def test_the_engine_tells_what_it_drafts_by(make_engine: MakeEngine, plain: Engine) -> None:
    words = "ngram, 4 tokens at most, whether or not they pay, after 1 to 3 that repeat"
    assert make_engine(4).info.speculation == words
    assert plain.info.speculation is None
    assert plain.stats.num_accepted_per_pos == ()


def test_the_sampler_of_a_gpu_sees_drafts_as_the_other_does(
    make_engine: MakeEngine, run: Run, tokens: Tokens, mixed_requests: list[EngineRequest],
    expected: dict[str, list[int]],
) -> None:  # fmt: skip
    engine = make_engine(3)
    engine._computing = StepByStep(
        engine._computing._runner,  # type: ignore[attr-defined]  # what StepByStep holds
        DeviceSampler(engine.info.eos_token_ids),
        engine.info.block_size,
    )
    assert tokens(run(engine, *mixed_requests)) == expected
    assert sum(engine.stats.num_accepted_per_pos) > 0


@pytest.mark.parametrize("method", ["ngram", pytest.param("draft_model", marks=pytest.mark.soak)])
def test_with_graphs_steps_that_verify_run_eagerly_and_none_is_begun_ahead(
    method: str, make_engine: MakeEngine, run: Run, tokens: Tokens, plain: Engine, make_request: MakeRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The engine of a GPU, its kernels interpreted: refused tokens leave nothing in its pool either."""
    skip_unless_interpreted()
    monkeypatch.setattr(gpu_kernels, "serves", lambda _: True)
    requests = [
        make_request("a", [5, 6, 5, 6, 5], max_tokens=6),
        make_request("b", [9], max_tokens=5, temperature=0.9, seed=3, top_p=0.9),
    ]
    engine = make_engine(2, method, attention_backend="triton", block_size=8, num_gpu_blocks_override=12)
    assert isinstance(engine._computing, StepByStep)
    assert isinstance(engine._computing._runner, GraphRunner)
    assert tokens(run(engine, *requests)) == tokens(run(plain, *requests))
    assert engine.stats.num_drafts > 0
