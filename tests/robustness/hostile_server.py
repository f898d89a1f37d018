"""A server that means harm, as a program: ``hostile_server.py HARM``. Says its port, serves for ever."""

from __future__ import annotations

import contextlib
import gzip
import socket
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MIB = 1 << 20
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
MODELS = b'{"data":[{"id":"m"}]}'
NASTY = "\\u001b[31m</script><img src=x onerror=alert(1)>=cmd()|\\u0000"


def event(content: bytes, finish: bytes = b"null") -> bytes:
    return b'data: {"choices":[{"index":0,"delta":{"content":"%b"},"finish_reason":%b}]}\n\n' % (
        content,
        finish,
    )


def one_event_of_a_gigabyte() -> Iterator[bytes]:
    yield STREAM + b"data: "
    for _ in range(1_024):
        yield b"x" * MIB


def endless_tokens() -> Iterator[bytes]:
    yield STREAM
    while True:
        yield event(b"a") * 1_000


def endless_comments() -> Iterator[bytes]:
    yield STREAM
    while True:
        yield b": ping\n\n" * 10_000


def endless_page() -> Iterator[bytes]:
    yield STREAM.replace(b"text/event-stream", b"text/html")
    while True:
        yield b"<p>" * 100_000


def a_million_headers() -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\n"
    for number in range(1_000):
        yield b"".join(b"X-%d: y\r\n" % (1_000 * number + at) for at in range(1_000))
    yield b"\r\n"


def gzip_bomb() -> Iterator[bytes]:
    bomb = gzip.compress(bytes(100 * MIB), 1)
    yield STREAM[:-2] + b"Content-Encoding: gzip\r\n\r\n" + bomb


def invalid_utf_8() -> Iterator[bytes]:
    yield STREAM + event(b"caf\xe9 \xff\xfe") + event(b"b", b'"stop"') + b"data: [DONE]\n\n"


def markup_and_escapes() -> Iterator[bytes]:
    nasty = NASTY.encode()
    yield STREAM + event(nasty) + event(nasty, b'"stop"') + b"data: [DONE]\n\n"


def nasty_error() -> Iterator[bytes]:
    body = b'{"error":{"message":"' + NASTY.encode() * 5_000 + b'"}}'
    yield b"HTTP/1.1 500 Oh No\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    yield body


HARMS = {
    harm.__name__: harm
    for harm in (
        one_event_of_a_gigabyte,
        endless_tokens,
        endless_comments,
        endless_page,
        a_million_headers,
        gzip_bomb,
        invalid_utf_8,
        markup_and_escapes,
        nasty_error,
    )
}


def serve(connection: socket.socket, harm: str, *, even_models: bool) -> None:
    with connection, contextlib.suppress(OSError):
        head = b""
        while b"\r\n\r\n" not in head:
            data = connection.recv(65_536)
            if not data:
                return
            head += data
        if b"/models" in head.split(b"\r\n")[0] and not even_models:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n" % len(MODELS))
            connection.sendall(b"Connection: close\r\n\r\n" + MODELS)
            return
        for data in HARMS[harm]():
            connection.sendall(data)


def main() -> None:
    harm, even_models = sys.argv[1], "--even-models" in sys.argv
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)  # noqa: T201 (how the test learns of it)
    while True:
        connection, _ = listening.accept()
        serving = threading.Thread(
            target=serve, args=(connection, harm), kwargs={"even_models": even_models}, daemon=True
        )
        serving.start()


if __name__ == "__main__":
    main()
