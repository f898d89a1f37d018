"""Text completions, whole and streamed, against the echo engine."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATH = "/v1/completions"
TEXT = "hé€😀 THE EN"
PLAIN: dict[str, Any] = {"add_special_tokens": False, "ignore_eos": True}


def echo_of(text: str, times: int = 1) -> dict[str, Any]:
    """Fields whose answer is ``text``, so many times."""
    return {"prompt": text, "max_tokens": times * len(text.encode()), **PLAIN}


async def test_a_whole_answer_has_openai_s_shape(api: Any) -> None:
    answer = await api.complete(**echo_of(TEXT))
    assert answer["id"].startswith("cmpl-")
    assert answer["object"] == "text_completion"
    assert answer["choices"] == [
        {
            "index": 0,
            "text": TEXT,
            "logprobs": None,
            "finish_reason": "length",
            "stop_reason": None,
            "prompt_logprobs": None,
        }
    ]


async def test_max_tokens_defaults_to_16(api: Any) -> None:
    answer = await api.complete("a", **PLAIN)
    assert answer["usage"]["completion_tokens"] == 16


async def test_C5_10_the_default_is_cut_to_the_room_left(start_api: Any) -> None:
    api = await start_api(engine={"max_model_len": 20})
    answer = await api.complete("a" * 12, **PLAIN)
    assert answer["usage"]["completion_tokens"] == 8


async def test_a_begin_token_is_added_by_default(api: Any) -> None:
    answer = await api.complete("abc", max_tokens=1)
    assert answer["usage"]["prompt_tokens"] == 4


async def test_streams_have_no_role_chunk(api: Any) -> None:
    chunks = await api.stream(PATH, **echo_of(TEXT))
    assert "".join(chunk["choices"][0]["text"] for chunk in chunks) == TEXT
    assert set(chunks[0]["choices"][0]) == {"index", "text", "logprobs", "finish_reason", "stop_reason"}
    assert all(chunk["object"] == "text_completion" for chunk in chunks)


async def test_choices_follow_the_prompts_in_order(api: Any) -> None:
    answer = await api.complete(["ab", "cd"], n=2, max_tokens=2, **PLAIN)
    assert [choice["text"] for choice in answer["choices"]] == ["ab", "ab", "cd", "cd"]
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2, 3]
    assert answer["usage"]["prompt_tokens"] == 4
    assert answer["usage"]["completion_tokens"] == 8


@pytest.mark.parametrize("prompt", [[99, 100], [[99, 100]]])
async def test_prompts_may_be_token_ids(api: Any, prompt: list[Any]) -> None:
    answer = await api.complete(prompt, max_tokens=2, **PLAIN)
    assert answer["choices"][0]["text"] == "ab"


async def test_C1_06_a_prompt_that_ends_in_a_character_leaks_nothing(api: Any) -> None:
    """The prompt ends after 2 of the 3 bytes of a sign."""
    token_ids = [2 + byte for byte in "ab€".encode()[:-1]]
    chunks = await api.stream(PATH, prompt=token_ids, max_tokens=4, **PLAIN)
    assert "".join(chunk["choices"][0]["text"] for chunk in chunks).startswith("ab")


async def test_C1_03_what_was_held_back_comes_at_the_end(api: Any) -> None:
    chunks = await api.stream(PATH, **echo_of(TEXT), stop=["END"])
    assert "".join(chunk["choices"][0]["text"] for chunk in chunks) == TEXT
    assert chunks[-1]["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize("stream", [False, True])
async def test_C1_03_the_earliest_match_ends_the_text(api: Any, stream: bool) -> None:
    fields = {**echo_of("x ab abc €uro"), "stop": ["abc", "ab", "€u"]}
    if stream:
        chunks = await api.stream(PATH, **fields)
        text, end = "".join(chunk["choices"][0]["text"] for chunk in chunks), chunks[-1]["choices"][0]
    else:
        end = (await api.complete(**fields))["choices"][0]
        text = end["text"]
    assert text == "x "
    assert (end["finish_reason"], end["stop_reason"]) == ("stop", "ab")


async def test_a_stop_string_ends_the_engine_s_work_and_the_count(api: Any) -> None:
    answer = await api.complete("abcdef", max_tokens=4000, stop="d", **PLAIN)
    assert answer["choices"][0]["text"] == "abc"
    assert answer["usage"]["completion_tokens"] == 4
    async with asyncio.timeout(5):
        while api.context.client.stats.num_running:  # noqa: ASYNC110 (the engine has no event)
            await asyncio.sleep(0.01)


async def test_a_stop_string_can_be_shown(api: Any) -> None:
    answer = await api.complete("abcdef", stop=["cd"], include_stop_str_in_output=True, **PLAIN)
    assert answer["choices"][0]["text"] == "abcd"


async def test_stop_strings_wait_for_min_tokens(api: Any) -> None:
    answer = await api.complete("ab", max_tokens=8, min_tokens=4, stop=["b"], **PLAIN)
    assert answer["choices"][0]["text"] == "ababa"


async def test_the_end_token_has_no_text(api: Any) -> None:
    """The echo engine ends with the prompt's last token, which counts and does not show."""
    answer = await api.complete("abc", add_special_tokens=False)
    assert answer["choices"][0]["text"] == "ab"
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["usage"]["completion_tokens"] == 3


@pytest.mark.parametrize("num_tokens", range(1, 10))
async def test_an_answer_that_is_cut_inside_a_character_ends_before_it(api: Any, num_tokens: int) -> None:
    """Streamed and whole alike; its tokens and their logprobs stay."""
    prompt, fields = "a🤗b👍🏽", {"max_tokens": num_tokens, "logprobs": 0, "return_token_ids": True, **PLAIN}
    (whole,) = (await api.complete(prompt, **fields))["choices"]
    chunks = [chunk["choices"][0] for chunk in await api.stream(PATH, prompt=prompt, **fields)]
    expected = prompt.encode()[:num_tokens]
    for text, token_ids, logprobs in (
        (whole["text"], whole["token_ids"], whole["logprobs"]["token_logprobs"]),
        (
            "".join(chunk["text"] for chunk in chunks),
            [token_id for chunk in chunks for token_id in chunk["token_ids"] or []],
            [
                number
                for chunk in chunks
                if chunk["logprobs"]
                for number in chunk["logprobs"]["token_logprobs"]
            ],
        ),
    ):
        assert text == expected.decode(errors="ignore")
        assert token_ids == [2 + value for value in expected]
        assert logprobs == [-0.5] * num_tokens


async def test_C5_06_logprobs_have_completion_s_form(api: Any) -> None:
    logprobs = (await api.complete(**echo_of("a€b"), logprobs=2))["choices"][0]["logprobs"]
    assert logprobs["tokens"] == ["a", "\ufffd", "\ufffd", "\ufffd", "b"]
    assert logprobs["token_logprobs"] == [-0.5] * 5
    assert logprobs["text_offset"] == [0, 1, 1, 1, 2]
    assert logprobs["top_logprobs"][0] == {"a": -0.5, "b": -9999.0}


async def test_logprobs_zero_name_the_chosen_token(api: Any) -> None:
    logprobs = (await api.complete(**echo_of("ab"), logprobs=0))["choices"][0]["logprobs"]
    assert logprobs["top_logprobs"] == [{"a": -0.5}, {"b": -0.5}]


async def test_prompts_can_be_truncated_at_either_side(api: Any) -> None:
    left = await api.complete("abcdef", max_tokens=2, truncate_prompt_tokens=2, **PLAIN)
    right = await api.complete(
        "abcdef", max_tokens=2, truncate_prompt_tokens=2, truncation_side="right", **PLAIN
    )
    assert (left["choices"][0]["text"], right["choices"][0]["text"]) == ("ef", "ab")
    assert left["usage"]["prompt_tokens"] == 2


async def test_C1_08_tokens_arrive_one_by_one_even_if_gzip_is_accepted(start_api: Any) -> None:
    api = await start_api(engine={"step_s": 0.03})
    arrivals: list[float] = []
    loop = asyncio.get_running_loop()
    fields = {"prompt": "a", "max_tokens": 20, "stream": True, **PLAIN}
    async with api.http.stream("POST", PATH, json=fields, headers={"accept-encoding": "gzip"}) as response:
        began = loop.time()
        assert "content-encoding" not in response.headers
        async for data in response.aiter_raw():
            arrivals += [loop.time()] * (b"text" in data)
    assert len(arrivals) >= 10
    assert arrivals[-1] - began > 0.3
