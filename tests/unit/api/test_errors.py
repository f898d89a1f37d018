"""Every refusal has the envelope, the right status, and the name of the field."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import httpx

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
USER = [{"role": "user", "content": "hi"}]


def envelope(response: httpx.Response) -> dict[str, Any]:
    """The error object, checked for its form."""
    body = response.json()
    assert set(body) == {"error"}
    error: dict[str, Any] = body["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["code"] == response.status_code
    assert isinstance(error["message"], str)
    assert error["message"]
    assert isinstance(error["type"], str)
    for leak in ("Traceback", "site-packages", 'File "', "0x7"):
        assert leak not in response.text
    return error


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "param"),
    [
        ("POST", CHAT, b'{"messages":[', 400, None),
        ("POST", CHAT, b"", 400, None),
        ("POST", CHAT, b"[]", 400, None),
        ("POST", CHAT, b'{"messages":"\xe9"}', 400, None),
        ("POST", CHAT, b"\xef\xbb\xbf{}", 400, None),
        ("POST", CHAT, b'{"temperature":NaN}', 400, None),
        ("POST", CHAT, b'{"temperature":1e400}', 400, None),
        ("POST", CHAT, b'{"a":' * 10_000, 400, None),
        ("POST", CHAT, b"{}", 400, "messages"),
        ("POST", CHAT, b'{"messages":{}}', 400, "messages"),
        ("POST", CHAT, b'{"messages":"hi"}', 400, "messages"),
        ("POST", CHAT, b'{"messages":[]}', 400, "messages"),
        ("POST", CHAT, b'{"messages":null}', 400, "messages"),
        ("POST", CHAT, b'{"messages":[{"content":"x"}]}', 400, "messages"),
        ("POST", COMPLETIONS, b'{"prompt":""}', 400, "prompt"),
        ("POST", COMPLETIONS, b'{"prompt":[""]}', 400, "prompt"),
        ("POST", COMPLETIONS, b'{"prompt":[]}', 400, "prompt"),
        ("POST", COMPLETIONS, b'{"prompt":[[]]}', 400, "prompt"),
        ("POST", COMPLETIONS, b'{"prompt":[1,"a"]}', 400, "prompt"),
        ("POST", COMPLETIONS, b'{"prompt":[true]}', 400, "prompt"),
        ("POST", COMPLETIONS, b'{"prompt":[-1]}', 400, "prompt"),
        ("POST", COMPLETIONS, b'{"prompt":[512]}', 400, "prompt"),
        ("POST", COMPLETIONS, b'{"prompt":[100000000000000000000]}', 400, "prompt"),
        ("POST", COMPLETIONS, b'{"prompt":"x","model":"nope"}', 404, "model"),
        ("GET", COMPLETIONS, None, 405, None),
        ("DELETE", "/health", None, 405, None),
        ("GET", "/v2/nothing", None, 404, None),
        ("GET", "/v1/models/nope", None, 404, "model"),
        ("POST", "/tokenize", b"{}", 400, "prompt"),
        ("POST", "/detokenize", b'{"tokens":[512]}', 400, "tokens"),
        ("POST", "/detokenize", b'{"tokens":["a"]}', 400, "tokens"),
    ],
)
async def test_C6_01_C5_01_the_envelope_is_everywhere(
    api: Any, method: str, path: str, body: bytes | None, status: int, param: str | None
) -> None:
    response = await api.http.request(method, path, content=body)
    assert response.status_code == status
    assert envelope(response)["param"] == param


async def test_an_unknown_path_names_the_list_of_those_that_exist(api: Any) -> None:
    """One that is whole without the network: Swagger's page loads its scripts from elsewhere."""
    message = envelope(await api.http.get("/v2/nothing"))["message"]
    assert message == "GET /v2/nothing: there is no such path here; GET /openapi.json lists those that exist."
    listed = (await api.http.get("/openapi.json")).json()["paths"]
    assert {CHAT, COMPLETIONS, "/v1/models", "/tokenize", "/health", "/metrics"} <= listed.keys()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_tokens", 0),
        ("max_tokens", -1),
        ("max_tokens", 1.5),
        ("max_tokens", 10**12),
        ("max_tokens", "many"),
        ("temperature", -1),
        ("temperature", "hot"),
        ("top_p", 0),
        ("top_p", 2),
        ("top_k", -2),
        ("min_p", 1.5),
        ("presence_penalty", 3),
        ("repetition_penalty", 0),
        ("n", 0),
        ("n", 10**9),
        ("seed", 2**64),
        ("stop", ""),
        ("stop", [""]),
        ("stop", ["x"] * 100_000),
        ("stop_token_ids", [-1]),
        ("min_tokens", -1),
        ("min_tokens", 17),
        ("logit_bias", {"-1": 1}),
        ("logit_bias", {"999999": 1}),
        ("logit_bias", {"abc": 1}),
        ("logit_bias", {"5": 101}),
        ("logit_bias", {str(i): 1 for i in range(100_000)}),
        ("logprobs", 25),
        ("logprobs", -1),
        ("stream_options", {"include_usage": True}),
        ("truncate_prompt_tokens", -2),
        ("truncation_side", "middle"),
        ("suffix", "end"),
        ("echo", 2),
        ("best_of", 2),
        ("use_beam_search", True),
        ("prompt_logprobs", -1),
        ("prompt_logprobs", 21),
        ("prompt_logprobs", "all"),
        ("response_format", {"type": "json_object"}),
        ("structured_outputs", {"regex": "a+"}),
        ("allowed_token_ids", [1]),
        ("allowed_token_ids", []),
        ("bad_words", ["x"]),
        ("priority", 1),
    ],
)
async def test_C5_10_C5_11_C5_13_a_bad_value_names_its_field(api: Any, field: str, value: object) -> None:
    response = await api.post(COMPLETIONS, **{"prompt": "x", field: value})
    assert response.status_code == 400
    assert envelope(response)["param"] == field
    assert len(response.content) < 3000
    await api.complete("x")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("top_logprobs", 2),
        ("echo", True),
        ("continue_final_message", True),
        ("tools", [{"type": "function", "function": {"name": "f"}}]),
        ("tool_choice", "required"),
        ("chat_template", "{{ messages }}"),
        ("chat_template_kwargs", {"messages": []}),
        ("max_completion_tokens", 10**9),
    ],
)
async def test_C10_01_chat_refuses_by_name(api: Any, field: str, value: object) -> None:
    response = await api.post(CHAT, **{"messages": USER, field: value})
    assert response.status_code == 400
    assert envelope(response)["param"] == field


@pytest.mark.parametrize(
    "neutral",
    [
        {"max_tokens": None, "temperature": None, "stop": None, "seed": None, "n": None},
        {"stop": [], "top_k": -1, "logit_bias": {}, "stop_token_ids": [10**6]},
        {"echo": False, "suffix": None, "best_of": 1, "use_beam_search": False, "priority": 0},
        {"response_format": {"type": "text"}, "user": "me", "vllm_xargs": {}},
        {"temperature": 1e-8, "top_k": 5_000_000},
    ],
)
async def test_C5_10_C4_05_null_and_neutral_values_are_accepted(api: Any, neutral: dict[str, Any]) -> None:
    await api.complete("x", **neutral)


async def test_unknown_fields_are_accepted_and_logged_once(
    api: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        await api.complete("x", never_heard_of="\r\nforged log line")
    lines = [record.getMessage() for record in caplog.records if "never_heard_of" in record.getMessage()]
    assert len(lines) == 1
    assert "forged" not in lines[0]


async def test_C6_03_a_huge_wrong_input_gets_a_small_reply(api: Any) -> None:
    canary = "canary" * 16
    response = await api.post(CHAT, messages=[{"role": 1, "content": canary * 10}] * 5000)
    assert response.status_code == 400
    assert len(response.content) < 10_000
    assert "canary" not in response.text


async def test_C6_06_an_oversize_body_is_refused_by_its_announcement(api: Any) -> None:
    """Nothing of the body is sent, and yet the reply comes."""
    reply = await raw_exchange(
        api, b"POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 209715200\r\n\r\n"
    )
    assert reply.startswith(b"HTTP/1.1 413 ")
    assert b'"code":413' in reply


async def test_C6_06_an_unannounced_oversize_body_is_cut_off(api: Any) -> None:
    """Chunks without end: the reply comes soon after the limit."""
    chunk = b"100000\r\n" + b"x" * (1 << 20) + b"\r\n"
    head = b"POST /v1/completions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
    reply = await raw_exchange(api, head, *[chunk] * 9)
    assert reply.startswith(b"HTTP/1.1 413 ")


async def test_C6_06_compressed_bodies_are_refused(api: Any) -> None:
    response = await api.http.post(COMPLETIONS, content=b"\x1f\x8b", headers={"content-encoding": "gzip"})
    assert response.status_code == 415
    envelope(response)


async def test_C6_06_a_stalled_upload_is_given_up(api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reference_server.api.body.MAX_PAUSE_S", 0.2)
    reply = await raw_exchange(
        api, b'POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"prompt"'
    )
    assert reply.startswith(b"HTTP/1.1 408 ")


async def test_a_fault_of_our_own_is_a_500_that_tells_nothing(
    api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret inside")

    monkeypatch.setattr(api.context.tokenizer, "encode", broken)
    response = await api.post(COMPLETIONS, prompt="x")
    assert response.status_code == 500
    assert "secret" not in response.text
    assert envelope(response)["type"] == "InternalServerError"


async def test_what_the_engine_refuses_is_a_400(api: Any, echo: Any) -> None:
    response = await api.post(COMPLETIONS, prompt=[echo.REFUSED])
    assert response.status_code == 400
    assert envelope(response)["message"] == "this prompt is refused"


async def test_an_error_after_the_head_is_one_frame_and_done(api: Any, echo: Any) -> None:
    response = await api.post(COMPLETIONS, prompt=[echo.REFUSED], stream=True)
    assert response.status_code == 200
    error, done, rest = response.text.split("\n\n")
    assert json.loads(error.removeprefix("data: "))["error"]["message"] == "this prompt is refused"
    assert (done, rest) == ("data: [DONE]", "")


async def raw_exchange(api: Any, *pieces: bytes) -> bytes:
    """Send bytes and read until the server closes."""
    host, port = api.base_url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    async with asyncio.timeout(5):
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        reply = await reader.read()
    writer.close()
    return reply
