"""Requests from bytes, whole and in pieces, good and bad."""

from __future__ import annotations

import pytest

from reference_server.timetable.http_request import (
    MAX_BODY_BYTES,
    MAX_HEAD_BYTES,
    BadRequestError,
    HttpRequest,
    RequestParser,
)

HEAD = b"POST /v1/completions?x=1 HTTP/1.1\r\nHost: a\r\nX-Request-Id: 7\r\n"
COUNTED = HEAD + b"Content-Length: 5\r\n\r\nhello"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n3;ext=1\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: x\r\n\r\n"


def parse(*pieces: bytes) -> list[HttpRequest]:
    parser, requests = RequestParser(), []
    for piece in pieces:
        parser.feed(piece)
        while (request := parser.next_request()) is not None:
            requests.append(request)
    return requests


@pytest.mark.parametrize("raw", [COUNTED, CHUNKED])
def test_same_request_whole_byte_by_byte_and_cut_anywhere(raw: bytes) -> None:
    whole = parse(raw)
    assert [(each.method, each.path, each.query, each.body) for each in whole] == [
        ("POST", "/v1/completions", "x=1", b"hello")
    ]
    assert whole[0].headers["x-request-id"] == "7"
    assert parse(*(raw[i : i + 1] for i in range(len(raw)))) == whole
    for cut in range(len(raw)):
        assert parse(raw[:cut], raw[cut:]) == whole


def test_pipelined_requests_come_one_by_one() -> None:
    raw = COUNTED + CHUNKED + b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n" + COUNTED
    assert [each.path for each in parse(raw)] == [
        "/v1/completions",
        "/v1/completions",
        "/health",
        "/v1/completions",
    ]


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"GARBAGE\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\n", 400),
        (b"GET /\r\n", 400),
        (b"GET / HTTP/2.0\r\n\r\n", 400),
        (b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nfolded: x\r\n y\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: \x00\r\n\r\n", 400),
        (HEAD + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 400),
        (HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (HEAD + b"Content-Length: +5\r\n\r\n", 400),
        (HEAD + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", 400),
        (HEAD + b"Content-Length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1), 413),
        (HEAD + b"Transfer-Encoding: gzip\r\n\r\n", 501),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n", 400),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nfffffff\r\n", 413),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", 400),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1" * 2000, 400),
        (HEAD + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\n", 415),
        (b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 300 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\nX: " + b"y" * (MAX_HEAD_BYTES + 10), 431),
    ],
)
def test_refused(raw: bytes, status: int) -> None:
    with pytest.raises(BadRequestError) as refused:
        parse(raw)
    assert refused.value.status == status


@pytest.mark.parametrize(
    ("version", "wish", "keeps"),
    [(b"1.1", b"", True), (b"1.1", b"close", False), (b"1.0", b"", False), (b"1.0", b"keep-alive", True)],
)
def test_keep_alive(version: bytes, wish: bytes, *, keeps: bool) -> None:
    raw = b"GET / HTTP/" + version + b"\r\nHost: a\r\nConnection: " + wish + b"\r\n\r\n"
    assert parse(raw)[0].keeps_alive is keeps


def test_expect_continue_is_seen_until_the_body_comes() -> None:
    parser = RequestParser()
    parser.feed(HEAD + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    assert parser.next_request() is None
    assert parser.expects_continue
    parser.feed(b"hi")
    assert parser.next_request() is not None
    assert not parser.expects_continue
