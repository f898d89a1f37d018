"""Chat completions, whole and streamed, against the echo engine: the answer repeats the rendered prompt."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHAT = "/v1/chat/completions"
HELLO = [{"role": "user", "content": "hé€😀!"}]
RENDERED = "user: hé€😀!\nassistant: "
NUM_TOKENS = len(RENDERED.encode())
ECHO_ALL: dict[str, Any] = {"messages": HELLO, "max_tokens": NUM_TOKENS, "ignore_eos": True}


async def test_a_whole_answer_has_openai_s_shape(api: Any) -> None:
    answer = (await api.post(CHAT, **ECHO_ALL)).json()
    assert answer["id"].startswith("chatcmpl-")
    assert (answer["object"], answer["model"]) == ("chat.completion", "echo")
    (choice,) = answer["choices"]
    assert choice == {
        "index": 0,
        "message": {"role": "assistant", "content": RENDERED, "refusal": None},
        "logprobs": None,
        "finish_reason": "length",
        "stop_reason": None,
    }
    assert answer["usage"] == {
        "prompt_tokens": NUM_TOKENS,
        "completion_tokens": NUM_TOKENS,
        "total_tokens": 2 * NUM_TOKENS,
        "prompt_tokens_details": {"cached_tokens": 0},
    }
    assert set(answer["metrics"]) == {
        "time_to_first_token_ms",
        "generation_time_ms",
        "queue_time_ms",
        "mean_itl_ms",
        "tokens_per_second",
    }


async def test_C1_01_a_stream_joins_to_the_whole_answer(api: Any) -> None:
    """No replacement character, no empty content but in the role and the last chunk."""
    chunks = await api.stream(CHAT, **ECHO_ALL)
    assert len({(chunk["id"], chunk["created"], chunk["object"]) for chunk in chunks}) == 1
    assert chunks[0]["object"] == "chat.completion.chunk"
    assert chunks[0]["choices"] == [
        {
            "index": 0,
            "delta": {"role": "assistant", "content": ""},
            "logprobs": None,
            "finish_reason": None,
        }
    ]
    contents = [chunk["choices"][0]["delta"]["content"] for chunk in chunks[1:]]
    assert "".join(contents) == RENDERED
    assert all(contents[:-1])
    assert not any("\ufffd" in content for content in contents)
    assert all("usage" not in chunk for chunk in chunks)


async def test_the_last_content_chunk_carries_the_end(api: Any) -> None:
    chunks = await api.stream(CHAT, **ECHO_ALL)
    ends = [chunk["choices"][0] for chunk in chunks if chunk["choices"][0]["finish_reason"]]
    assert ends == [chunks[-1]["choices"][0]]
    assert (ends[0]["finish_reason"], ends[0]["stop_reason"]) == ("length", None)


async def test_C5_13_usage_comes_last_with_empty_choices_if_asked(api: Any) -> None:
    chunks = await api.stream(CHAT, **ECHO_ALL, stream_options={"include_usage": True})
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["completion_tokens"] == NUM_TOKENS
    assert chunks[-1]["metrics"]["tokens_per_second"] > 0
    assert all("usage" not in chunk for chunk in chunks[:-1])


async def test_empty_stream_options_ask_for_nothing(api: Any) -> None:
    chunks = await api.stream(CHAT, **ECHO_ALL, stream_options={})
    assert all("usage" not in chunk for chunk in chunks)


async def test_continuous_usage_grows_in_every_chunk(api: Any) -> None:
    chunks = await api.stream(CHAT, **ECHO_ALL, stream_options={"continuous_usage_stats": True})
    counts = [chunk["usage"]["completion_tokens"] for chunk in chunks]
    assert counts[0] == 0
    assert counts == sorted(counts)
    assert counts[-1] == NUM_TOKENS


async def test_C1_05_each_choice_ends_once(api: Any) -> None:
    chunks = await api.stream(CHAT, **ECHO_ALL, n=3, stream_options={"include_usage": True})
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    for index in range(3):
        mine = [choice for choice in choices if choice["index"] == index]
        assert mine[0]["delta"] == {"role": "assistant", "content": ""}
        assert "".join(choice["delta"]["content"] for choice in mine) == RENDERED
        assert [choice["finish_reason"] for choice in mine if choice["finish_reason"]] == ["length"]
    assert chunks[-1]["usage"]["completion_tokens"] == 3 * NUM_TOKENS
    assert chunks[-1]["usage"]["prompt_tokens"] == NUM_TOKENS
    assert chunks[-1]["metrics"] is None


async def test_max_completion_tokens_wins(api: Any) -> None:
    answer = (await api.post(CHAT, messages=HELLO, max_tokens=9, max_completion_tokens=3)).json()
    assert answer["usage"]["completion_tokens"] == 3


async def test_without_a_limit_the_rest_of_the_context_is_the_limit(start_api: Any) -> None:
    api = await start_api(engine={"max_model_len": 64})
    answer = (await api.post(CHAT, messages=HELLO, ignore_eos=True)).json()
    assert answer["usage"]["total_tokens"] == 64
    assert answer["choices"][0]["finish_reason"] == "length"


async def test_C5_06_logprobs_have_chat_s_form(api: Any) -> None:
    answer = (await api.post(CHAT, **ECHO_ALL, logprobs=True, top_logprobs=2)).json()
    content = answer["choices"][0]["logprobs"]["content"]
    assert len(content) == NUM_TOKENS
    assert bytes(byte for entry in content for byte in entry["bytes"]).decode() == RENDERED
    assert set(content[0]) == {"token", "logprob", "bytes", "top_logprobs"}
    assert [len(entry["top_logprobs"]) for entry in content] == [2] * NUM_TOKENS


async def test_C5_08_minus_infinity_is_a_finite_floor(api: Any) -> None:
    answer = (await api.post(CHAT, **ECHO_ALL, logprobs=True, top_logprobs=2)).json()
    top = answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    assert [entry["logprob"] for entry in top] == [-0.5, -9999.0]


async def test_top_zero_gives_the_chosen_token_alone(api: Any) -> None:
    answer = (await api.post(CHAT, **ECHO_ALL, logprobs=True, top_logprobs=0)).json()
    entry = answer["choices"][0]["logprobs"]["content"][0]
    assert (entry["logprob"], entry["top_logprobs"]) == (-0.5, [])


async def test_streamed_logprobs_cover_every_token_once(api: Any) -> None:
    """Tokens without text of their own come with the text that they complete."""
    chunks = await api.stream(CHAT, **ECHO_ALL, logprobs=True)
    entries = [
        entry
        for chunk in chunks[1:]
        for entry in (chunk["choices"][0]["logprobs"] or {"content": []})["content"]
    ]
    assert bytes(byte for entry in entries for byte in entry["bytes"]).decode() == RENDERED
    assert all(chunk["choices"][0]["delta"]["content"] for chunk in chunks[1:])


async def test_token_ids_come_at_once_if_asked_for(api: Any) -> None:
    chunks = await api.stream(CHAT, **ECHO_ALL, return_token_ids=True)
    token_ids = [token_id for chunk in chunks[1:] for token_id in chunk["choices"][0]["token_ids"]]
    assert api.context.tokenizer.decode(token_ids) == RENDERED


async def test_tokens_can_be_called_by_their_ids(api: Any) -> None:
    answer = (await api.post(CHAT, **ECHO_ALL, logprobs=True, return_tokens_as_token_ids=True)).json()
    assert answer["choices"][0]["logprobs"]["content"][0]["token"] == f"token_id:{2 + ord('u')}"


async def test_C2_05_the_client_s_id_is_echoed_and_may_be_used_twice_at_once(api: Any) -> None:
    import asyncio

    headers = {"x-request-id": "mine"}
    replies = await asyncio.gather(*(api.http.post(CHAT, json=ECHO_ALL, headers=headers) for _ in range(4)))
    assert [reply.json()["choices"][0]["message"]["content"] for reply in replies] == [RENDERED] * 4
    assert {reply.json()["id"] for reply in replies} == {"chatcmpl-mine"}
    assert {reply.headers["x-request-id"] for reply in replies} == {"mine"}


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}],
        [{"role": "system", "content": "only"}],
        [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}],
    ],
)
async def test_C6_05_odd_conversations_are_served(api: Any, messages: list[dict[str, Any]]) -> None:
    response = await api.post(CHAT, messages=messages, max_tokens=1)
    assert response.status_code == 200


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": None},
        {"role": "user"},
        {"role": "assistant", "content": None},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "tool", "content": None, "tool_calls": [{"id": "1"}]},
    ],
)
@pytest.mark.parametrize("path", [CHAT, "/tokenize"])
async def test_C6_05_a_message_without_content_is_named(api: Any, path: str, message: dict[str, Any]) -> None:
    response = await api.post(path, messages=[*HELLO, message])
    error = response.json()["error"]
    assert (response.status_code, error["param"]) == (400, "messages")
    assert error["message"].startswith("messages.1.content is null or missing; give a text or")


@pytest.mark.parametrize("content", [{"content": None}, {}])
async def test_C6_05_beside_tool_calls_null_is_an_empty_text(api: Any, content: dict[str, None]) -> None:
    calls = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    message = {"role": "assistant", "tool_calls": calls}
    null = await api.post("/tokenize", messages=[*HELLO, {**message, **content}])
    empty = await api.post("/tokenize", messages=[*HELLO, {**message, "content": ""}])
    assert null.status_code == 200, null.text
    assert null.json() == empty.json()


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}],
        [{"role": "user", "content": [{"type": "text"}]}],
    ],
)
async def test_C6_05_what_the_template_refuses_is_a_400(api: Any, messages: list[dict[str, Any]]) -> None:
    response = await api.post(CHAT, messages=messages, max_tokens=1)
    assert response.status_code in (200, 400)
    if response.status_code == 400:
        assert response.json()["error"]["param"] == "messages"
    assert "Traceback" not in response.text
