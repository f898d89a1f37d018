"""What every endpoint must do; a new file in harness/wire is found by itself."""

from __future__ import annotations

import json

import pytest

from harness import wire
from harness.errors import EndpointError
from harness.wire import Endpoint, Kind, WireError
from scenarios.request import Arrival, Message, Prompt
from scenarios.scenario import ENDPOINTS

PROMPTS = [
    Prompt(text="hello ü\u2028"),
    Prompt(messages=(Message("system", "be brief"), Message("user", "hello"))),
    Prompt(token_ids=(1, 2, 3)),
]


@pytest.fixture(params=wire.endpoint_names())
def endpoint(request: pytest.FixtureRequest) -> Endpoint:
    return wire.endpoint(request.param)


def test_scenarios_know_the_same_endpoints() -> None:
    assert sorted(ENDPOINTS) == wire.endpoint_names()


def test_an_unknown_endpoint() -> None:
    with pytest.raises(EndpointError, match="chat, completions"):
        wire.endpoint("chats")


def test_the_path_has_one_slash_in_front(endpoint: Endpoint) -> None:
    assert endpoint.path.startswith("/")
    assert not endpoint.path.endswith("/")


def test_bodies_ask_for_a_stream_with_usage(endpoint: Endpoint) -> None:
    sampling = {"max_tokens": 7, "stop": ["\n"]}
    arrival = Arrival(index=0, due_ns=0, prompt=PROMPTS[0], sampling=sampling)
    body = json.loads(endpoint.body(arrival, "the-model"))
    assert (body["model"], body["stream"]) == ("the-model", True)
    assert body["stream_options"] == {"include_usage": True}
    assert (body["max_tokens"], body["stop"]) == (7, ["\n"])


USER = {"role": "user", "content": "hello"}


@pytest.mark.parametrize(
    ("name", "prompt", "field", "value"),
    [
        ("chat", Prompt(text="hello"), "messages", [USER]),
        ("chat", PROMPTS[1], "messages", [{"role": "system", "content": "be brief"}, USER]),
        ("completions", Prompt(text="hello"), "prompt", "hello"),
        ("completions", PROMPTS[2], "prompt", [1, 2, 3]),
    ],
)
def test_what_an_endpoint_carries(name: str, prompt: Prompt, field: str, value: object) -> None:
    arrival = Arrival(index=0, due_ns=0, prompt=prompt, sampling={})
    assert json.loads(wire.endpoint(name).body(arrival, "m"))[field] == value


@pytest.mark.parametrize(("name", "prompt"), [("chat", PROMPTS[2]), ("completions", PROMPTS[1])])
def test_what_an_endpoint_cannot_carry(name: str, prompt: Prompt) -> None:
    with pytest.raises(EndpointError, match="use endpoint:"):
        wire.endpoint(name).body(Arrival(index=0, due_ns=0, prompt=prompt, sampling={}), "m")


def test_a_plain_prompt_arrives_unchanged(endpoint: Endpoint) -> None:
    arrival = Arrival(index=0, due_ns=0, prompt=PROMPTS[0], sampling={})
    assert "hello ü\u2028" in json.dumps(json.loads(endpoint.body(arrival, "m")), ensure_ascii=False)


@pytest.mark.parametrize("data", [b"", b"[]", b"1", b'"x"', b"{", b'{"choices": 3}', b"[" * 100_000, b"\xff"])
def test_what_is_no_chunk_is_a_wire_error(endpoint: Endpoint, data: bytes) -> None:
    with pytest.raises(WireError):
        endpoint.decode(data)


@pytest.mark.parametrize(
    "data", [b"{}", b'{"choices": null}', b'{"choices": [], "new": {"a": [1]}}', b'{"type":"ping"}']
)
def test_what_bears_nothing(endpoint: Endpoint, data: bytes) -> None:
    delta = endpoint.decode(data)
    assert (delta.kind, delta.usage, delta.error, delta.has_choices) == (None, None, None, False)


def test_a_text_token(endpoint: Endpoint) -> None:
    shapes = {"text": "a", "delta": {"content": "a"}, "index": 0}
    delta = endpoint.decode(json.dumps({"choices": [shapes]}).encode())
    assert (delta.kind, delta.text) == (Kind.ANSWER, "a")
