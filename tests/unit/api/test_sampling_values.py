"""Sampling and its edge values over HTTP, of a real model whose requests share steps."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from reference_server.engine.config import EngineConfig
from reference_server.engine.engine import load_engine

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATH, CHAT = "/v1/completions", "/v1/chat/completions"
CONFIG = EngineConfig(
    model="tiny-random", dtype="float32", device="cpu", cpu_threads=1, max_num_batched_tokens=32
)
A: dict[str, Any] = {"prompt": "a seeded one", "seed": 42, "temperature": 0.8, "max_tokens": 24}
GREEDY: dict[str, Any] = {"prompt": "the same again", "temperature": 0, "max_tokens": 16}


@pytest.fixture(scope="module")
def echo() -> SimpleNamespace:
    """In place of the echo engine: a model, whose prompts take several steps."""
    return SimpleNamespace(EchoEngine=lambda: load_engine(CONFIG))


async def token_ids(api: Any, **fields: Any) -> list[int]:
    """Of a completion that must succeed; where finite log-probabilities go along, they are numbers."""
    answer = await api.complete(return_token_ids=True, ignore_eos=True, logprobs=1, **fields)
    (choice,) = answer["choices"]
    assert all(-9999 <= logprob <= 0 for logprob in choice["logprobs"]["token_logprobs"])
    ids: list[int] = choice["token_ids"]
    return ids


async def together(api: Any, *requests: dict[str, Any]) -> list[list[int]]:
    return await asyncio.gather(*(token_ids(api, **fields) for fields in requests))


async def test_C4_01_a_seeded_answer_is_its_own_in_any_company(api: Any) -> None:
    """Alone, beside unseeded ones, beside seeded ones, and in other rows of the batch."""
    alone = await token_ids(api, **A)
    unseeded = {"prompt": "an unseeded neighbour", "temperature": 1.3, "max_tokens": 40}
    seeded = unseeded | {"seed": 7}
    (found, *_) = await together(api, A, unseeded, unseeded)
    assert found == alone
    (found, *_) = await together(api, A, seeded, seeded)
    assert found == alone
    (*_, found) = await together(api, unseeded, seeded, unseeded, A)
    assert found == alone
    assert await token_ids(api, **A | {"seed": 43}) != alone


@pytest.mark.parametrize("temperature", [0, 1e-8, 1e-5, 1e-3, 5.0])
async def test_C4_03_extreme_temperatures_are_sound_alone_and_in_a_batch(
    api: Any, temperature: float
) -> None:
    """Those near 0 are greedy, and neighbours are what they are alone."""
    hot, seeded = GREEDY | {"temperature": temperature, "seed": 3}, A
    greedy, alone, neighbour = [await token_ids(api, **each) for each in (GREEDY, hot, seeded)]
    if temperature <= 1e-5:
        assert alone == greedy
    assert await together(api, hot, seeded, GREEDY) == [alone, neighbour, greedy]


@pytest.mark.parametrize("temperature", [-1, -1e-9])
async def test_C4_03_a_negative_temperature_is_refused(api: Any, temperature: float) -> None:
    response = await api.post(PATH, prompt="x", temperature=temperature)
    assert (response.status_code, response.json()["error"]["param"]) == (400, "temperature")


async def test_C4_05_top_k_is_off_clamped_or_greedy(api: Any) -> None:
    """0, -1 and more than the vocabulary keep all; 1 is greedy; a greedy neighbour stays greedy."""
    greedy = await token_ids(api, **GREEDY)
    plain = await token_ids(api, **A)
    for top_k in (0, -1, 512, 5_000_000):
        assert await together(api, A | {"top_k": top_k}, GREEDY | {"top_k": top_k}) == [plain, greedy]
    one = await together(api, GREEDY | {"temperature": 0.9, "top_k": 1}, GREEDY)
    assert one == [greedy, greedy]


async def test_C4_05_a_top_k_that_means_nothing_is_refused(api: Any) -> None:
    for top_k in (-2, 1.5, "all"):
        response = await api.post(PATH, prompt="x", top_k=top_k)
        assert (response.status_code, response.json()["error"]["param"]) == (400, "top_k")
    await api.complete("x", max_tokens=1)


@pytest.mark.parametrize("prompt", ["", [""], [], [[]], [[], [5]]])
async def test_C5_01_an_empty_prompt_is_refused_and_the_next_request_works(api: Any, prompt: Any) -> None:
    response = await api.post(PATH, prompt=prompt)
    assert (response.status_code, response.json()["error"]["param"]) == (400, "prompt")
    assert len(await token_ids(api, **GREEDY)) == 16


async def test_C5_01_no_message_is_refused_and_an_empty_one_is_the_template_s(api: Any) -> None:
    response = await api.post(CHAT, messages=[])
    assert (response.status_code, response.json()["error"]["param"]) == (400, "messages")
    response = await api.post(CHAT, messages=[{"role": "user", "content": ""}], max_tokens=2)
    assert response.status_code == 200
    assert response.json()["usage"]["prompt_tokens"] == len("user: \nassistant: ")
    assert len(await token_ids(api, **GREEDY)) == 16


async def test_C5_01_a_prompt_cut_to_nothing_is_refused(api: Any) -> None:
    """``truncate_prompt_tokens`` 0 leaves none."""
    response = await api.post(PATH, prompt="x", truncate_prompt_tokens=0)
    assert response.status_code == 400
    assert len(await token_ids(api, **GREEDY)) == 16


@pytest.mark.parametrize("bias", [{"-1": 1}, {"512": 1}, {"999999": 1}, {"abc": 1}, {"5": 101}, {"5": "x"}])
async def test_C5_11_a_bias_that_fits_no_token_is_refused_and_named(api: Any, bias: dict[str, Any]) -> None:
    response = await api.post(PATH, prompt="x", logit_bias=bias)
    error = response.json()["error"]
    assert (response.status_code, error["param"]) == (400, "logit_bias")
    assert next(iter(bias)) in error["message"]
    assert len(await token_ids(api, **GREEDY)) == 16


async def test_C5_11_every_token_of_the_vocabulary_may_have_a_bias(api: Any) -> None:
    ids = await token_ids(api, **GREEDY | {"logit_bias": {"67": 100, "0": -100, "511": -100}})
    assert set(ids) == {67}


@pytest.mark.parametrize("max_tokens", [1, 2, 5])
async def test_C10_03_what_max_tokens_cuts_ends_with_length_and_closes(api: Any, max_tokens: int) -> None:
    """In the middle of JSON or not: as a whole answer and as a stream, whose end ``api.stream`` demands."""
    fields: dict[str, Any] = {
        "messages": [{"role": "user", "content": 'say {"a": [1, 2]}'}],
        "max_tokens": max_tokens,
        "ignore_eos": True,
    }
    whole = (await api.post(CHAT, **fields)).json()
    assert whole["choices"][0]["finish_reason"] == "length"
    assert whole["usage"]["completion_tokens"] == max_tokens
    chunks = await api.stream(CHAT, **fields)
    reasons = [choice["finish_reason"] for chunk in chunks for choice in chunk["choices"]]
    assert reasons[-1] == "length"
    assert [reason for reason in reasons if reason] == ["length"]


@pytest.mark.parametrize("stream", [False, True])
async def test_C10_03_tools_are_refused_before_any_call_could_be_cut(api: Any, stream: bool) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    response = await api.post(
        CHAT,
        messages=[{"role": "user", "content": "call f"}],
        tools=[tool],
        tool_choice="required",
        max_tokens=1,
        stream=stream,
    )
    assert response.status_code == 400
    assert response.json()["error"]["param"] in ("tools", "tool_choice")
