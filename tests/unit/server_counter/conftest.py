"""Servers that count words, each in its own dialect."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

Answer = Callable[[str, dict[str, Any]], tuple[int, Any]]
"""From path and body to status and JSON."""


class CountingServer(ThreadingHTTPServer):
    """Answers POST requests on 127.0.0.1.

    Attributes:
        asked: Path, body and authorisation of each request.
    """

    daemon_threads = True

    def __init__(self, answer: Answer) -> None:
        self.asked: list[tuple[str, dict[str, Any], str | None]] = []
        self.answer = answer
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: CountingServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body, self.headers["Authorization"]))
        status, content = self.server.answer(self.path, body)
        reply = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's name
        """Nothing."""


@pytest.fixture
def counting() -> Iterator[Callable[[Answer], CountingServer]]:
    """Start servers; they stop with the test."""
    with contextlib.ExitStack() as stack:

        def start(answer: Answer) -> CountingServer:
            server = stack.enter_context(CountingServer(answer))
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.shutdown)
            return server

        yield start
