"""Every fault of the timetable server, as a plain socket sees it, and hostile bytes."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from support.timetable_process import TimetableProcess


def outcome_of(server: TimetableProcess, after: int) -> tuple[str, int]:
    line = server.log(1, after)[-1]
    return line["outcome"], line["completion_tokens"]


@pytest.fixture
def server(timetable: TimetableProcess) -> TimetableProcess:
    timetable.send("POST", "/timetable/reset")
    return timetable


@pytest.mark.parametrize(("fault", "status"), [("http_429", 429), ("http_500", 500), ("http_503", 503)])
def test_http_error(server: TimetableProcess, fault: str, status: int) -> None:
    response = server.chat({"faults": {fault: 1}})
    assert (response.status, response.json()["error"]["code"]) == (status, status)
    assert ("retry-after" in response.headers) == (status != 500)
    assert outcome_of(server, 0) == (fault, 0)


@pytest.mark.parametrize(
    ("fault", "content_type", "begins"),
    [
        ("error_object", "application/json", b'{"error"'),
        ("html", "text/html", b"<!doctype"),
        ("empty_body", "application/json", b""),
    ],
)
def test_200_that_is_no_answer(
    server: TimetableProcess, fault: str, content_type: str, begins: bytes
) -> None:
    response = server.chat({"faults": {fault: 1}})
    assert response.status == 200
    assert response.headers["content-type"].startswith(content_type)
    assert response.body.startswith(begins)
    assert bool(response.body) == bool(begins)


def test_A4_01_error_event_after_tokens(server: TimetableProcess) -> None:
    response = server.chat({"faults": {"stream_error": 1}, "fault_after": 4})
    assert "error" in response.events[-2]
    assert response.events[-1] == "[DONE]"
    assert outcome_of(server, 0) == ("stream_error", 4)


def test_A4_03_cut_is_a_polite_end_in_mid_answer(server: TimetableProcess) -> None:
    response = server.chat({"faults": {"cut": 1}, "fault_after": 4})
    assert (response.complete, response.is_reset) == (False, False)
    assert outcome_of(server, 0) == ("cut", 4)


def test_reset_is_seen_as_a_reset(server: TimetableProcess) -> None:
    response = server.chat({"faults": {"reset": 1}, "fault_after": 4})
    assert (response.complete, response.is_reset) == (False, True)
    assert outcome_of(server, 0) == ("reset", 4)


def test_A7_01_stall_keeps_the_connection_open_and_silent(server: TimetableProcess) -> None:
    script = {"faults": {"stall": 1}, "fault_after": 2, "gap": "0"}
    body = json.dumps({"prompt": "a", "stream": True, "timetable": script}).encode()
    with server.client() as client:
        client.request("POST", "/v1/completions", body)
        received, deadline = b"", time.monotonic() + 20
        while received.count(b'"text"') < 2 and time.monotonic() < deadline:
            received += client.read_some()
        assert received.count(b'"text"') == 2
        assert server.log(0) == []
    assert outcome_of(server, 0) == ("stall", 2)


def test_slow_headers(server: TimetableProcess) -> None:
    began = time.monotonic()
    response = server.chat({"faults": {"slow_headers": 1}, "fault_delay": "80ms", "ttft": "1ms"})
    assert time.monotonic() - began >= 0.08
    assert response.events[-1] == "[DONE]"
    line = server.log(1)[0]
    assert line["headers_ns"] - line["arrival_ns"] >= 80_000_000


def test_close_after_the_stream(server: TimetableProcess) -> None:
    with server.client() as client:
        client.request("POST", "/v1/completions", b'{"prompt":"a","stream":true,"timetable":{"close":true}}')
        response = client.read()
        assert (response.complete, response.headers["connection"]) == (True, "close")
        assert client.is_ended()


@pytest.mark.parametrize(("fault", "status"), [("stream_error", 500), ("cut", 200), ("reset", 200)])
def test_faults_of_a_whole_answer(server: TimetableProcess, fault: str, status: int) -> None:
    response = server.chat({"faults": {fault: 1}}, stream=False)
    assert response.status == status
    assert response.complete == (fault == "stream_error")


def test_A4_06_shares_are_drawn_by_seed_and_order(server: TimetableProcess) -> None:
    def statuses() -> list[int]:
        server.send("POST", "/timetable/reset")
        return [server.chat({"faults": {"http_500": 0.5}, "tokens": 1}).status for _ in range(30)]

    drawn = statuses()
    assert drawn == statuses()
    assert 3 < drawn.count(500) < 27


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"messages": []}, "messages"),
        ({}, "messages"),
        ({"messages": [{"role": "user", "content": "a"}], "n": 2}, "n"),
        ({"messages": [{"role": "user", "content": "a"}], "timetable": {"ttft": 5}}, "timetable"),
        ({"messages": [{"role": "user", "content": "a"}], "timetable": {"nothing": 5}}, "timetable"),
        ({"messages": [{"role": "user", "content": "a"}], "stream_options": {}}, "stream_options"),
        ({"messages": [{"role": "user", "content": "a"}], "max_tokens": -1}, None),
    ],
)
def test_bad_body_is_400_with_its_field(
    server: TimetableProcess, body: dict[str, Any], param: str | None
) -> None:
    response = server.send("POST", "/v1/chat/completions", body)
    assert response.status == 400
    assert response.json()["error"]["param"] == param


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("GET", "/v1/completions", 405),
        ("POST", "/health", 405),
        ("GET", "/timetable/log?after=x", 400),
    ],
)
def test_wrong_path_or_method(server: TimetableProcess, method: str, path: str, status: int) -> None:
    response = server.send(method, path)
    assert (response.status, response.json()["error"]["code"]) == (status, status)


def test_unknown_model_is_404(server: TimetableProcess) -> None:
    response = server.chat({}, model="other")
    assert (response.status, response.json()["error"]["param"]) == (404, "model")


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"GARBAGE\r\n\r\n", 400),
        (b"\x16\x03\x01\x00\xa5\x01\n", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n" + b"x" * 200_000, 413),
        (b"GET / HTTP/1.1\r\nX: " + b"y" * 70_000, 431),
    ],
)
def test_malformed_bytes_are_refused_and_the_server_lives(
    server: TimetableProcess, raw: bytes, status: int
) -> None:
    with server.client() as client:
        client.send(raw)
        assert client.read().status == status
        assert client.is_ended()
    assert server.get("/health").status == 200


@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b'{"prompt": "\xff"}', b"\x00", b'{"prompt": "\\ud800"}', b""]
)
def test_body_that_is_no_json_is_400(server: TimetableProcess, body: bytes) -> None:
    with server.client() as client:
        client.request("POST", "/v1/completions", body)
        assert client.read().status == 400
    assert server.get("/health").status == 200
