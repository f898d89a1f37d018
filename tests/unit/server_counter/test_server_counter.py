"""The server's own tokenize call."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from harness.errors import PreflightError
from harness.server_counter import ServerCounter, schedule_of
from harness.target import Target
from harness.tokenize_calls import tokenize_calls
from scenarios.scenario import scenario_from

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.server_counter.conftest import Answer, CountingServer

    Counting = Callable[[Answer], CountingServer]

UNPROCESSABLE = (422, {"detail": "missing field"})
NOT_FOUND = (404, {"detail": "Not Found"})


def _vllm(path: str, body: dict[str, Any]) -> tuple[int, Any]:
    if path != "/tokenize":
        return NOT_FOUND
    if "prompt" not in body:
        return 400, {"error": {"message": "Field required: prompt"}}
    tokens = list(range(len(body["prompt"].split()) + body.get("add_special_tokens", True)))
    return 200, {"count": len(tokens), "max_model_len": 2048, "tokens": tokens, "token_strs": None}


def _sglang(path: str, body: dict[str, Any]) -> tuple[int, Any]:
    return _vllm("/tokenize", body) if path == "/v1/tokenize" else NOT_FOUND


def _llamacpp(path: str, body: dict[str, Any]) -> tuple[int, Any]:
    if path != "/tokenize":
        return NOT_FOUND
    words = body.get("content", "").split()
    return 200, {"tokens": [1] * body.get("add_special", False) + list(range(len(words)))}


def _llama_cpp_python(path: str, body: dict[str, Any]) -> tuple[int, Any]:
    return (200, {"count": len(body["input"].split()) + 1}) if path == "/extras/tokenize/count" else NOT_FOUND


def _tgi(path: str, body: dict[str, Any]) -> tuple[int, Any]:
    if path != "/tokenize":
        return NOT_FOUND
    if "inputs" not in body:
        return UNPROCESSABLE
    tokens = [{"id": 1, "text": "<s>", "start": 0, "stop": 0}]
    return 200, tokens + [{"id": 5, "text": w, "start": 0, "stop": len(w)} for w in body["inputs"].split()]


DIALECTS = {
    "vllm": _vllm,
    "sglang": _sglang,
    "llamacpp": _llamacpp,
    "llama-cpp-python": _llama_cpp_python,
    "tgi": _tgi,
}


def _counter(url: str, **keys: Any) -> ServerCounter:
    return ServerCounter(Target.parse(url, **keys), "mine")


@pytest.mark.parametrize("answer", DIALECTS.values(), ids=DIALECTS.keys())
def test_each_dialect_counts_the_text_alone(counting: Counting, answer: Answer) -> None:
    """Whatever the server puts before a text by itself."""
    counter = _counter(counting(answer).url)
    assert counter.count(["one two three", "four", "one two three", "five six"]) == [3, 1, 3, 2]


def test_every_dialect_is_tried_here() -> None:
    assert len(tokenize_calls()) == len({*DIALECTS} - {"sglang"})  # SGLang speaks as vLLM does


@pytest.mark.parametrize("address", ["{}", "{}/v1", "{}/v1/chat/completions"])
def test_call_is_found_from_any_form_of_the_address(counting: Counting, address: str) -> None:
    server = counting(_vllm)
    assert _counter(address.format(server.url)).count(["a b"]) == [2]
    assert server.asked[-1][0] == "/tokenize"


def test_call_is_found_behind_a_path_of_a_gateway(counting: Counting) -> None:
    server = counting(
        lambda path, body: _vllm(path.removeprefix("/team"), body) if path[:5] == "/team" else NOT_FOUND
    )
    assert _counter(f"{server.url}/team/v1").count(["a b"]) == [2]


def test_key_goes_along_and_the_model_is_named(counting: Counting) -> None:
    server = counting(_vllm)
    _counter(server.url, api_key="sk-canary").count(["a"])
    _, body, authorization = server.asked[-1]
    assert (body["model"], authorization) == ("mine", "Bearer sk-canary")


def test_each_text_is_asked_once_and_a_few_at_a_time(counting: Counting) -> None:
    lock, now, most = threading.Lock(), 0, 0

    def slow(path: str, body: dict[str, Any]) -> tuple[int, Any]:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.005)
        with lock:
            now -= 1
        return _vllm(path, body)

    server = counting(slow)
    counter = _counter(server.url)
    before = len(server.asked)
    assert counter.count([f"w{at % 40}" for at in range(400)]) == [1] * 400
    assert len(server.asked) - before == 40
    assert 1 < most <= 8


def test_server_without_a_call_is_told_with_the_remedy(counting: Counting) -> None:
    server = counting(lambda *_: NOT_FOUND)
    with pytest.raises(
        PreflightError, match=r"has no tokenize call .* answers 404.*; name a tokenizer\.json"
    ):
        _counter(server.url)


def test_A9_01_message_of_a_refusal_holds_no_key(counting: Counting) -> None:
    server = counting(lambda *_: (401, {"error": {"message": "bad key sk-canary"}}))
    with pytest.raises(PreflightError, match=r"answers 401: bad key \*\*\*"):
        _counter(server.url, api_key="sk-canary")


def test_reply_that_counts_nothing_is_no_call(counting: Counting) -> None:
    server = counting(lambda *_: (200, {"hello": "world"}))
    with pytest.raises(PreflightError, match="has no tokenize call"):
        _counter(server.url)


def test_server_that_fails_later_ends_it_before_the_load(counting: Counting) -> None:
    answers = iter([_vllm] * 12)

    def failing(path: str, body: dict[str, Any]) -> tuple[int, Any]:
        return next(answers, lambda *_: (500, {"error": {"message": "out of luck"}}))(path, body)

    counter = _counter(counting(failing).url)
    with pytest.raises(PreflightError, match="tokenizer: server: /tokenize answers 500: out of luck"):
        counter.count([f"w{at}" for at in range(40)])


def test_schedule_by_the_server_is_exact(counting: Counting) -> None:
    server = counting(_vllm)
    data = {
        "name": "t",
        "tokenizer": "server",
        "load": {"arrivals": "closed", "concurrency": 2, "requests": 30},
        "prompts": {"source": "synthetic", "length": {"min": 1, "max": 40}},
    }
    target = Target.parse(server.url)
    schedule = asyncio.run(schedule_of(scenario_from(data), target, "mine"))
    prompts = [arrival.prompt for arrival in schedule.arrivals]
    assert [len((prompt.text or "").split()) for prompt in prompts] == [
        prompt.num_tokens for prompt in prompts
    ]
    assert [note for note in schedule.notes if "counted by the server's own tokenizer (/tokenize)" in note]


def test_scenario_without_it_asks_nobody(counting: Counting) -> None:
    server = counting(_vllm)
    load = {"arrivals": "closed", "concurrency": 2, "requests": 3}
    scenario = scenario_from({"name": "t", "load": load, "prompts": {"source": "text", "text": "Hi"}})
    assert asyncio.run(schedule_of(scenario, Target.parse(server.url), "mine")).num_requests == 3
    assert server.asked == []
