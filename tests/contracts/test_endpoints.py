"""What every endpoint must do; a new file in harness/wire is found by itself."""

from __future__ import annotations

import json

import pytest

from harness import wire
from harness.errors import EndpointError
from harness.wire import Endpoint, Kind, WireError
from scenarios.plan import CHAT_ENDPOINTS
from scenarios.request import Arrival, Message, Prompt
from scenarios.scenario import ENDPOINTS

TEXT = Prompt(text="hello ü\u2028")
CONVERSATION = Prompt(messages=(Message("system", "be brief"), Message("user", "hello")))
TOKENS = Prompt(token_ids=(1, 2, 3))
NAMES = wire.endpoint_names()
STREAMING = [name for name in NAMES if wire.endpoint(name).streaming]


@pytest.fixture(params=NAMES)
def endpoint(request: pytest.FixtureRequest) -> Endpoint:
    return wire.endpoint(request.param)


def body_of(name: str, prompt: Prompt, **sampling: object) -> dict[str, object]:
    arrival = Arrival(index=0, due_ns=0, prompt=prompt, sampling=sampling)
    body = json.loads(wire.endpoint(name).body(arrival, "the-model"))
    assert isinstance(body, dict)
    return body


def test_scenarios_know_the_same_endpoints() -> None:
    assert sorted(ENDPOINTS) == NAMES


def test_an_unknown_endpoint() -> None:
    with pytest.raises(EndpointError, match="chat, completions"):
        wire.endpoint("chats")


def test_the_path_has_one_slash_in_front(endpoint: Endpoint) -> None:
    assert endpoint.path.startswith("/")
    assert not endpoint.path.endswith("/")


@pytest.mark.parametrize("name", NAMES)
def test_bodies_ask_for_a_stream_where_there_is_one(name: str) -> None:
    body = body_of(name, TEXT, user="me")
    assert (body["model"], body["user"]) == ("the-model", "me")
    assert body.get("stream", False) == (name in STREAMING)


@pytest.mark.parametrize("name", ["chat", "completions"])
def test_usage_is_asked_for(name: str) -> None:
    assert body_of(name, TEXT)["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("chat", {"max_tokens": 7}),
        ("completions", {"max_tokens": 7}),
        ("responses", {"max_output_tokens": 7}),
        ("embeddings", {}),
    ],
)
def test_the_output_limit_has_the_endpoints_own_name(name: str, limit: dict[str, int]) -> None:
    body = body_of(name, TEXT, max_tokens=7, seed=1)
    assert {key: value for key, value in body.items() if key.startswith("max_")} == limit
    assert body["seed"] == 1


USER = {"role": "user", "content": "hello"}
SYSTEM = {"role": "system", "content": "be brief"}


@pytest.mark.parametrize(
    ("name", "prompt", "field", "value"),
    [
        ("chat", Prompt(text="hello"), "messages", [USER]),
        ("chat", CONVERSATION, "messages", [SYSTEM, USER]),
        ("completions", Prompt(text="hello"), "prompt", "hello"),
        ("completions", TOKENS, "prompt", [1, 2, 3]),
        ("responses", Prompt(text="hello"), "input", "hello"),
        ("responses", CONVERSATION, "input", [SYSTEM, USER]),
        ("embeddings", Prompt(text="hello"), "input", "hello"),
        ("embeddings", TOKENS, "input", [1, 2, 3]),
    ],
)
def test_what_an_endpoint_carries(name: str, prompt: Prompt, field: str, value: object) -> None:
    assert body_of(name, prompt)[field] == value


@pytest.mark.parametrize(
    ("name", "prompt"),
    [
        ("chat", TOKENS),
        ("responses", TOKENS),
        ("completions", CONVERSATION),
        ("embeddings", CONVERSATION),
    ],
)
def test_what_an_endpoint_cannot_carry(name: str, prompt: Prompt) -> None:
    with pytest.raises(EndpointError, match="use endpoint:"):
        body_of(name, prompt)


@pytest.mark.parametrize("name", NAMES)
def test_scenarios_know_which_endpoints_take_conversations(name: str) -> None:
    if name in CHAT_ENDPOINTS:
        body_of(name, CONVERSATION)
    else:
        with pytest.raises(EndpointError):
            body_of(name, CONVERSATION)


@pytest.mark.parametrize("name", NAMES)
def test_a_plain_prompt_arrives_unchanged(name: str) -> None:
    assert "hello ü\u2028" in json.dumps(body_of(name, TEXT), ensure_ascii=False)


@pytest.mark.parametrize("data", [b"", b"[]", b"1", b'"x"', b"{", b"[" * 100_000, b"\xff"])
def test_what_is_no_object_is_a_wire_error(endpoint: Endpoint, data: bytes) -> None:
    with pytest.raises(WireError):
        endpoint.decode(data)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("chat", b'{"choices": 3}'),
        ("completions", b'{"choices": [{"text": 3}]}'),
        ("responses", b'{"type": "response.completed", "response": 3}'),
        ("embeddings", b'{"data": 3}'),
    ],
)
def test_what_has_another_form_is_a_wire_error(name: str, data: bytes) -> None:
    with pytest.raises(WireError):
        wire.endpoint(name).decode(data)


@pytest.mark.parametrize(
    "data", [b"{}", b'{"choices": null}', b'{"choices": [], "new": {"a": [1]}}', b'{"type":"ping"}']
)
def test_what_bears_nothing(endpoint: Endpoint, data: bytes) -> None:
    delta = endpoint.decode(data)
    assert (delta.kind, delta.usage, delta.error, delta.has_choices) == (None, None, None, False)


@pytest.mark.parametrize(
    "data",
    [
        b'{"error": {"message": "no room", "code": 500}}',
        b'{"error": "no room"}',
        b'{"object": "error", "message": "no room"}',
    ],
)
def test_errors_of_every_shape(endpoint: Endpoint, data: bytes) -> None:
    assert "no room" in (endpoint.decode(data).error or "")


TOKEN = {
    "chat": {"choices": [{"index": 0, "delta": {"content": "a"}}]},
    "completions": {"choices": [{"index": 0, "text": "a"}]},
    "responses": {"type": "response.output_text.delta", "delta": "a"},
}


@pytest.mark.parametrize("name", STREAMING)
def test_a_text_token(name: str) -> None:
    delta = wire.endpoint(name).decode(json.dumps(TOKEN[name]).encode())
    assert (delta.kind, delta.text) == (Kind.ANSWER, "a")
