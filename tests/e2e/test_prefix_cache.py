"""The prefix cache as clients and dashboards see it; and the real model's tokens with and without it."""

from __future__ import annotations

import itertools
import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from reference_server.engine.config import EngineConfig
from reference_server.engine.request import EngineRequest, SamplingParams

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.engine.engine import Engine

PROMPT_LEN, BLOCK_SIZE = 101, 32
FOUND = 96


@pytest.fixture
def complete(tiny_server: str) -> Callable[..., dict[str, Any]]:
    """``complete(**fields)``: the answer to 101 tokens that no other test has sent."""
    canary = uuid.uuid4().hex * 4

    def post(**fields: Any) -> dict[str, Any]:
        body = {"prompt": canary[: PROMPT_LEN - 1], "max_tokens": 4, "temperature": 0, "ignore_eos": True}
        response = httpx.post(f"{tiny_server}/v1/completions", json=body | fields, timeout=60)
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        return answer

    return post


def cached(answer: dict[str, Any]) -> int:
    count: int = answer["usage"]["prompt_tokens_details"]["cached_tokens"]
    return count


def text(answer: dict[str, Any]) -> str:
    (choice,) = answer["choices"]
    return str(choice["text"])


def counters(base_url: str) -> dict[str, float]:
    """Values of ``vllm:`` counters; those with a ``source`` by name and source."""
    families = text_string_to_metric_families(httpx.get(f"{base_url}/metrics").text)
    return {
        f"{sample.name}{sample.labels.get('source', '')}": sample.value
        for family in families
        for sample in family.samples
        if family.name.startswith("vllm:") and sample.name.endswith("_total")
    }


def test_usage_tells_what_came_from_the_cache(complete: Callable[..., dict[str, Any]]) -> None:
    first, second = complete(), complete()
    assert first["usage"]["prompt_tokens"] == PROMPT_LEN
    assert (cached(first), cached(second)) == (0, FOUND)
    assert text(first) == text(second)


def test_H7_a_salt_separates_tenants(complete: Callable[..., dict[str, Any]]) -> None:
    assert [cached(complete(cache_salt=salt)) for salt in ("red", "blue", "red", "blue")] == [0, 0, 96, 96]
    assert cached(complete()) == 0, "no salt is a tenant of its own"


def test_C5_05_n_choices_count_the_prompt_and_its_hits_once(complete: Callable[..., dict[str, Any]]) -> None:
    """Of the first choice: what its siblings found is what the first has just computed."""
    first, second = complete(n=3), complete(n=3)
    for answer, found in ((first, 0), (second, FOUND)):
        assert (cached(answer), answer["usage"]["prompt_tokens"]) == (found, PROMPT_LEN)
        assert answer["usage"]["completion_tokens"] == 12
        assert len({choice["text"] for choice in answer["choices"]}) == 1


def test_metrics_add_up_with_usage(complete: Callable[..., dict[str, Any]], tiny_server: str) -> None:
    before = counters(tiny_server)
    answers = [complete() for _ in range(4)]
    after = counters(tiny_server)
    gained = {name.removeprefix("vllm:"): after[name] - before.get(name, 0) for name in after}
    hits = sum(map(cached, answers))
    assert hits == 3 * FOUND
    expected = {
        "prefix_cache_queries_total": 4 * PROMPT_LEN,
        "prefix_cache_hits_total": hits,
        "prompt_tokens_total": 4 * PROMPT_LEN,
        "prompt_tokens_cached_total": hits,
        "prompt_tokens_by_source_totallocal_compute": 4 * PROMPT_LEN - hits,
        "prompt_tokens_by_source_totallocal_cache_hit": hits,
        "num_preemptions_total": 0,
    }
    assert {name: gained[name] for name in expected} == expected


def test_the_cache_can_be_turned_off_and_reset(start_server: Callable[..., Any]) -> None:
    base_url = start_server(
        "tiny-random", "--dtype", "float32", "--server-dev-mode", "--num-gpu-blocks-override", "64"
    ).base_url
    body = {"prompt": "x" * 100, "max_tokens": 2}

    def ask() -> int:
        return cached(httpx.post(f"{base_url}/v1/completions", json=body, timeout=60).json())

    assert (ask(), ask()) == (0, FOUND)
    assert httpx.post(f"{base_url}/reset_prefix_cache", timeout=60).status_code == 200
    assert (ask(), ask()) == (0, FOUND)


@pytest.mark.soak
def test_without_the_cache_nothing_is_found_or_looked_up(start_server: Callable[..., Any]) -> None:
    base_url = start_server(
        "tiny-random", "--dtype", "float32", "--no-enable-prefix-caching", "--scheduling-policy", "priority"
    ).base_url
    body = {"prompt": "x" * 100, "max_tokens": 2, "priority": -1}
    answers = [httpx.post(f"{base_url}/v1/completions", json=body, timeout=60).json() for _ in range(2)]
    assert [cached(answer) for answer in answers] == [0, 0]
    found = counters(base_url)
    assert (found["vllm:prefix_cache_queries_total"], found["vllm:prefix_cache_hits_total"]) == (0, 0)
    assert 'enable_prefix_caching="False"' in httpx.get(f"{base_url}/metrics").text


MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
NUM_TOKENS = 16


def load(path: Path, **settings: Any) -> Engine:
    from reference_server.engine.engine import load_engine

    config = EngineConfig(
        model=str(path), dtype="float32", device="cpu", block_size=16, cpu_threads=1, **settings
    )
    return load_engine(config)


def answer(engine: Engine, prompts: list[list[int]]) -> tuple[list[list[int]], list[int]]:
    """Greedy answers to all prompts at once, and how much of each prompt was found."""
    sampling = SamplingParams(max_tokens=NUM_TOKENS, seed=0, temperature=0.0, ignore_eos=True)
    answers: list[list[int]] = [[] for _ in prompts]
    found = [0] * len(prompts)
    for index, prompt in enumerate(prompts):
        engine.add(EngineRequest(request_id=str(index), prompt_token_ids=prompt, sampling=sampling))
    while engine.has_work:
        for output in engine.step():
            answers[int(output.request_id)] += output.token_ids
            found[int(output.request_id)] = output.num_cached_tokens
        engine.check_invariants()
    return answers, found


@pytest.mark.soak
@pytest.mark.model
@pytest.mark.timeout(600)
def test_C3_06_the_real_model_says_the_same_with_and_without_the_cache() -> None:
    """Questions about one long text, cold, warm, in short chunks, and preempted: float32, greedy."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = os.environ.get("TOKENPACE_MODEL_DIR") or cache / "tokenpace/models/smollm2-135m"
    path = Path(folder) / MODEL_FILE
    if not path.is_file():
        pytest.skip(f"{path} is absent; `tokenpace model pull smollm2-135m` fetches it")
    from reference_server.text.load import load_text

    tokenizer, _ = load_text(str(path))
    story = " ".join(f"The {n}th lighthouse keeper wrote {n * 7} letters." for n in range(2, 18))
    questions = (
        "Who wrote them?",
        "How many keepers were there?",
        "Was it raining?",
        "What is a lighthouse?",
    )
    prompts = [tokenizer.encode(f"{story}\n\nQ: {question}\nA:") for question in questions]
    shared = len(list(itertools.takewhile(lambda t: len(set(t)) == 1, zip(*prompts, strict=False))))
    expected, found = answer(load(path, enable_prefix_caching=False), prompts)
    assert set(found) == {0}
    warm = load(path)
    for first in (0, shared // 16 * 16):
        answers, found = answer(warm, prompts)
        assert answers == expected
        assert found[0] >= first
        assert min(found[1:]) >= shared // 16 * 16
    for settings in (
        {"max_num_batched_tokens": 48},
        {"num_gpu_blocks_override": max(map(len, prompts)) // 16 + 8},
    ):
        engine = load(path, **settings)
        assert answer(engine, prompts)[0] == expected
    assert engine.stats.num_preemptions > 0
