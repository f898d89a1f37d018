"""The timetable server over a plain socket: streams, times, counts, forms."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from support.timetable_process import Response, TimetableProcess

MS = 1_000_000
LATE_NS = 500 * MS  # a busy machine may be late, never early


def logged(server: TimetableProcess, request_id: str) -> dict[str, Any]:
    """The log's line of a request, once it is there."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        for line in server.log(0):
            if line["request_id"] == request_id:
                return line
        time.sleep(0.01)
    raise AssertionError(f"{request_id} is not in the log")


def chat(server: TimetableProcess, request_id: str, script: dict[str, Any], **fields: Any) -> Response:
    body = {
        "messages": [{"role": "user", "content": "three short words"}],
        "stream": True,
        "timetable": script,
    }
    return server.send("POST", "/v1/chat/completions", {**body, **fields}, f"X-Request-Id: {request_id}")


def text_of(response: Response) -> str:
    choices = [event["choices"][0] for event in response.events[:-1] if event["choices"]]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


def test_tokens_leave_when_scripted_and_the_log_says_so(timetable: TimetableProcess) -> None:
    began_ns = time.monotonic_ns()
    response = chat(timetable, "times", {"ttft": "30ms", "gap": "7ms", "tokens": 12})
    ended_ns = time.monotonic_ns()
    line = logged(timetable, "times")
    assert len(text_of(response).split()) == len(line["token_ns"]) == line["completion_tokens"] == 12
    assert began_ns <= line["arrival_ns"] <= line["headers_ns"] <= line["token_ns"][0]
    assert line["done_ns"] <= ended_ns
    for i, sent_ns in enumerate(line["token_ns"]):
        late_ns = sent_ns - line["start_ns"] - (30 + 7 * i) * MS
        assert 0 <= late_ns < LATE_NS
        assert late_ns <= line["max_late_ns"] + 1
    assert line["outcome"] == "ok"
    assert line["num_held_back"] == 0


def test_usage_counts_words_in_and_tokens_out(timetable: TimetableProcess) -> None:
    response = chat(timetable, "usage", {"tokens": 5}, stream_options={"include_usage": True})
    assert response.events[-2]["usage"] == {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8}
    assert "usage" not in response.events[-3]


def test_script_can_come_in_vllm_xargs(timetable: TimetableProcess) -> None:
    body = {"prompt": [1, 2, 3, 4], "vllm_xargs": {"timetable": {"tokens": 3}}}
    answer = timetable.send("POST", "/v1/completions", body).json()
    assert len(answer["choices"][0]["text"].split()) == 3
    assert answer["usage"] == {"prompt_tokens": 4, "completion_tokens": 3, "total_tokens": 7}


def test_whole_answer_says_what_the_stream_says(timetable: TimetableProcess) -> None:
    timetable.send("POST", "/timetable/reset")
    streamed = text_of(chat(timetable, "s", {"tokens": 9}))
    timetable.send("POST", "/timetable/reset")
    whole = chat(timetable, "w", {"tokens": 9}, stream=False).json()
    assert whole["choices"][0]["message"]["content"] == streamed
    assert whole["choices"][0]["finish_reason"] == "stop"


def test_text_repeats_after_a_reset_and_differs_between_requests(timetable: TimetableProcess) -> None:
    texts = []
    for _ in range(2):
        timetable.send("DELETE", "/timetable/log")
        texts.append([text_of(chat(timetable, str(i), {})) for i in range(3)])
    assert texts[0] == texts[1]
    assert len(set(texts[0])) == 3


def test_request_id_is_echoed(timetable: TimetableProcess) -> None:
    assert chat(timetable, "echo-me", {}).headers["x-request-id"] == "echo-me"


@pytest.mark.parametrize(
    ("script", "ttft_at_least_ms"),
    [
        ({"keepalive": "5ms", "ttft": "40ms", "answer": "tool_call"}, 40),
        ({"keepalive": "5ms", "ttft": "40ms"}, 40),
    ],
)
def test_A1_08_comments_are_no_tokens(
    timetable: TimetableProcess, script: dict[str, Any], ttft_at_least_ms: int
) -> None:
    response = chat(timetable, f"comments-{script.get('answer')}", script)
    assert response.body.startswith(b": keep-alive\n\n")
    assert response.body.count(b": keep-alive") >= 7
    line = logged(timetable, f"comments-{script.get('answer')}")
    assert line["token_ns"][0] - line["arrival_ns"] >= ttft_at_least_ms * MS
    assert line["completion_tokens"] == 10


@pytest.mark.parametrize(
    "script", [{"split": 5, "split_gap": "1ms"}, {"coalesce": 4}, {"line_end": "crlf", "space": False}]
)
def test_form_does_not_change_the_text(timetable: TimetableProcess, script: dict[str, Any]) -> None:
    timetable.send("POST", "/timetable/reset")
    plain = text_of(chat(timetable, "a", {}))
    timetable.send("POST", "/timetable/reset")
    assert text_of(chat(timetable, "b", script)) == plain


def test_A3_10_coalesced_tokens_share_a_stamp(timetable: TimetableProcess) -> None:
    chat(timetable, "coalesced", {"coalesce": 5, "tokens": 10})
    stamps = logged(timetable, "coalesced")["token_ns"]
    assert [stamps.count(stamp) for stamp in dict.fromkeys(stamps)] == [5, 5]


def test_256_streams_at_once_are_all_complete(timetable: TimetableProcess) -> None:
    timetable.send("POST", "/timetable/reset")
    body = json.dumps(
        {
            "messages": [{"role": "user", "content": "hi"}],
            "stream": True,
            "timetable": {"tokens": 20, "gap": "10ms"},
        }
    ).encode()
    clients = [timetable.client() for _ in range(256)]
    for client in clients:
        client.request("POST", "/v1/chat/completions", body)
    with ThreadPoolExecutor(4) as pool:
        responses = list(pool.map(lambda client: client.read(), clients))
    for client in clients:
        client.__exit__()
    assert all(response.complete and response.events[-1] == "[DONE]" for response in responses)
    assert all(len(text_of(response).split()) == 20 for response in responses)
    lines = timetable.log(256)
    assert sorted(line["index"] for line in lines) == list(range(256))
    assert {line["outcome"] for line in lines} == {"ok"}


def test_pipelined_requests_are_answered_in_order(timetable: TimetableProcess) -> None:
    body = b'{"prompt":"a b","stream":true,"timetable":{"tokens":3}}'
    request = b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    with timetable.client() as client:
        client.send(request + b"GET /version HTTP/1.1\r\nHost: a\r\n\r\n" + request)
        assert client.read().events[-1] == "[DONE]"
        assert client.read().json() == {"version": "timetable"}
        assert client.read().events[-1] == "[DONE]"


def test_chunked_body_in_pieces(timetable: TimetableProcess) -> None:
    head = b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    with timetable.client() as client:
        for piece in (head, b'a\r\n{"prompt":', b'\r\n5\r\n"a b"\r\n', b"1\r\n}\r\n0\r", b"\n\r\n"):
            client.send(piece)
            time.sleep(0.01)
        assert client.read().json()["usage"]["prompt_tokens"] == 2


def test_http_1_0_gets_a_body_without_chunks(timetable: TimetableProcess) -> None:
    body = b'{"prompt":"a","stream":true}'
    with timetable.client() as client:
        client.send(b"POST /v1/completions HTTP/1.0\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        response = client.read()
    assert response.events[-1] == "[DONE]"
    assert "transfer-encoding" not in response.headers


def test_expect_continue(timetable: TimetableProcess) -> None:
    with timetable.client() as client:
        client.send(
            b"POST /tokenize HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 14\r\n\r\n"
        )
        assert client.read_some() == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.send(b'{"prompt":"a"}')
        assert client.read().json()["count"] == 1


def test_client_that_leaves_is_logged_with_what_it_got(timetable: TimetableProcess) -> None:
    body = b'{"prompt":"a","stream":true,"timetable":{"tokens":1000,"gap":"5ms"}}'
    with timetable.client() as client:
        client.request("POST", "/v1/completions", body, "X-Request-Id: leaver")
        while b'"text"' not in client.read_some():
            pass
    line = logged(timetable, "leaver")
    assert line["outcome"] == "client_left"
    assert 0 < line["completion_tokens"] < 1000
