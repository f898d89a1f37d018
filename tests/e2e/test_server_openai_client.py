"""The official client against our server: what it reads, and which exception each refusal becomes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import openai
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MODEL = "tiny-random"
HELLO: Any = [{"role": "user", "content": "Explain KV cache in 2 sentences."}]


@pytest.fixture
def client(tiny_server: str) -> Iterator[openai.OpenAI]:
    """A client of the shared server."""
    with openai.OpenAI(base_url=f"{tiny_server}/v1", api_key="unused", max_retries=0, timeout=60) as client:
        yield client


def test_models_are_listed(client: openai.OpenAI) -> None:
    (model,) = client.models.list().data
    assert model.id == MODEL
    assert client.models.retrieve(MODEL).id == MODEL


def test_chat(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(
        model=MODEL, messages=HELLO, max_tokens=12, temperature=0, extra_body={"ignore_eos": True}
    )
    assert answer.choices[0].finish_reason == "length"
    assert answer.choices[0].message.role == "assistant"
    assert answer.usage
    assert answer.usage.completion_tokens == 12
    assert answer.usage.prompt_tokens_details
    assert answer.usage.prompt_tokens_details.cached_tokens == 0
    assert answer.model_extra
    assert answer.model_extra["metrics"]["tokens_per_second"] > 0


def test_a_chat_stream_with_usage_joins_to_the_whole_answer(client: openai.OpenAI) -> None:
    fields: Any = {"model": MODEL, "messages": HELLO, "max_tokens": 40, "temperature": 0}
    whole = client.chat.completions.create(**fields)
    chunks = list(
        client.chat.completions.create(**fields, stream=True, stream_options={"include_usage": True})
    )
    assert chunks[0].choices[0].delta.role == "assistant"
    streamed = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert streamed == whole.choices[0].message.content
    assert chunks[-1].choices == []
    assert chunks[-1].usage
    assert whole.usage
    assert chunks[-1].usage.completion_tokens == whole.usage.completion_tokens


def test_the_client_s_own_stream_helper_accumulates(client: openai.OpenAI) -> None:
    with client.chat.completions.stream(model=MODEL, messages=HELLO, max_tokens=8) as stream:
        kinds = {event.type for event in stream}
        final = stream.current_completion_snapshot
    assert {"chunk", "content.delta", "content.done"} <= kinds
    assert final.choices[0].finish_reason in ("length", "stop")


def test_completions_of_several_prompts(client: openai.OpenAI) -> None:
    answer = client.completions.create(
        model=MODEL, prompt=["one", "two"], n=3, max_tokens=4, temperature=1, extra_body={"ignore_eos": True}
    )
    assert [choice.index for choice in answer.choices] == [0, 1, 2, 3, 4, 5]
    assert answer.usage
    assert answer.usage.completion_tokens == 24


def test_a_completion_stream(client: openai.OpenAI) -> None:
    stream = client.completions.create(model=MODEL, prompt="x", max_tokens=5, temperature=0, stream=True)
    reasons = [chunk.choices[0].finish_reason for chunk in stream]
    assert reasons[-1] in ("length", "stop")
    assert not any(reasons[:-1])


def test_chat_logprobs(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(
        model=MODEL, messages=HELLO, max_tokens=3, temperature=0, logprobs=True, top_logprobs=3
    )
    logprobs = answer.choices[0].logprobs
    assert logprobs
    assert logprobs.content
    for entry in logprobs.content:
        best = entry.top_logprobs[0]
        assert (entry.token, entry.logprob) == (best.token, best.logprob)
        assert sorted((item.logprob for item in entry.top_logprobs), reverse=True) == [
            item.logprob for item in entry.top_logprobs
        ]


def test_C4_06_a_seed_repeats_and_no_seed_differs(client: openai.OpenAI) -> None:
    def text(**sampling: Any) -> str:
        answer = client.completions.create(
            model=MODEL, prompt="x", max_tokens=12, temperature=1, extra_body={"ignore_eos": True}, **sampling
        )
        return answer.choices[0].text

    assert text(seed=7) == text(seed=7)
    assert len({text() for _ in range(4)}) > 1


def test_choices_of_a_seeded_request_differ(client: openai.OpenAI) -> None:
    answer = client.completions.create(
        model=MODEL, prompt="x", max_tokens=12, temperature=1, n=3, seed=7, extra_body={"ignore_eos": True}
    )
    assert len({choice.text for choice in answer.choices}) > 1


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda c: c.chat.completions.create(model="nope", messages=HELLO), openai.NotFoundError),
        (lambda c: c.chat.completions.create(model=MODEL, messages=[]), openai.BadRequestError),
        (lambda c: c.completions.create(model=MODEL, prompt=""), openai.BadRequestError),
        (lambda c: c.completions.create(model=MODEL, prompt="x", temperature=-1), openai.BadRequestError),
        (lambda c: c.completions.create(model=MODEL, prompt="x", suffix="y"), openai.BadRequestError),
        (lambda c: c.embeddings.create(model=MODEL, input="x"), openai.NotFoundError),
    ],
)
def test_refusals_become_the_right_exceptions(
    client: openai.OpenAI, call: Callable[[openai.OpenAI], object], expected: type[openai.APIStatusError]
) -> None:
    with pytest.raises(expected) as refused:
        call(client)
    assert isinstance(refused.value.body, dict)
    assert refused.value.body["code"] == refused.value.status_code


@pytest.mark.soak
def test_a_wrong_key_is_an_authentication_error(server: Callable[..., str]) -> None:
    base_url = server("--model", "tiny-random", "--api-key", "right", "--num-gpu-blocks-override", "64")
    with openai.OpenAI(base_url=f"{base_url}/v1", api_key="wrong", max_retries=0) as client:
        with pytest.raises(openai.AuthenticationError):
            client.models.list()
        assert client.with_options(api_key="right").models.list().data
