"""The timetable server in a process of its own, and a plain socket to talk to it."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from typing import Any, NamedTuple, Self

DEADLINE_S = 20.0


class Response(NamedTuple):
    """A response as a plain client sees it.

    Attributes:
        status: HTTP status.
        headers: By lower-case name.
        body: Decoded from chunks.
        complete: False if the connection ended first.
        is_reset: It ended with a TCP reset.
    """

    status: int
    headers: dict[str, str]
    body: bytes
    complete: bool
    is_reset: bool = False

    @property
    def events(self) -> list[Any]:
        """What the lines that begin with ``data:`` hold, decoded but for [DONE]."""
        lines = self.body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        data = [line[5:].strip() for line in lines if line.startswith(b"data:")]
        return [item.decode() if item == b"[DONE]" else json.loads(item) for item in data]

    def json(self) -> Any:
        """The body, decoded."""
        return json.loads(self.body)


class Client:
    """One connection, read by hand."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), DEADLINE_S)
        self._buffer = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, data: bytes) -> None:
        """Raw bytes."""
        self._socket.sendall(data)

    def request(self, method: str, path: str, body: bytes = b"", *headers: str) -> None:
        """Send a request with a Content-Length."""
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *headers]
        self.send("\r\n".join([*lines, "\r\n"]).encode() + body)

    def read_some(self) -> bytes:
        """The next bytes; empty at the end. What was read and not used comes first."""
        if self._buffer:
            data, self._buffer = self._buffer, b""
            return data
        return self._socket.recv(1 << 20)

    def read(self) -> Response:
        """The next response; all of it, if it comes."""
        head = self._until(b"\r\n\r\n")
        status_line, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines if line)}
        status, body = int(status_line.split()[1]), b""
        try:
            if headers.get("transfer-encoding") == "chunked":
                while size := int(self._until(b"\r\n"), 16):
                    body += self._exactly(size + 2)[:-2]
                self._exactly(2)
            elif "content-length" in headers:
                body = self._exactly(int(headers["content-length"]))
            else:
                body = self._rest()
        except _EndError as end:
            return Response(status, headers, body + end.rest, complete=False, is_reset=end.is_reset)
        return Response(status, headers, body, complete=True)

    def is_ended(self) -> bool:
        """True if the server ends the connection (politely or not) with nothing more to read."""
        try:
            return self.read_some() == b""
        except ConnectionResetError:
            return True

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._buffer:
            self._receive()
        found, _, self._buffer = self._buffer.partition(mark)
        return found

    def _exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._receive()
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        return data

    def _rest(self) -> bytes:
        while data := self._socket.recv(1 << 20):
            self._buffer += data
        data, self._buffer = self._buffer, b""
        return data

    def _receive(self) -> None:
        try:
            data = self._socket.recv(1 << 20)
        except ConnectionResetError:
            raise _EndError(self._buffer, is_reset=True) from None
        if not data:
            raise _EndError(self._buffer, is_reset=False)
        self._buffer += data


class _EndError(Exception):
    def __init__(self, rest: bytes, *, is_reset: bool) -> None:
        super().__init__("the connection ended")
        self.rest, self.is_reset = rest, is_reset


class TimetableProcess:
    """``python -m reference_server.timetable`` on a free port while it is entered as a context.

    Args:
        options: Command line options.

    Attributes:
        port: Where it listens.
        url: Its address.
    """

    def __init__(self, *options: str) -> None:
        command = [sys.executable, "-m", "reference_server.timetable", "--port", "0", *options]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def __enter__(self) -> Self:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line.startswith("timetable server on http://"), self._process.communicate()
        self.url = line.split()[-1]
        self.port = int(self.url.rpartition(":")[2])
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; exit code and what was written to standard error."""
        if self._process.poll() is None:
            self._process.send_signal(number)
        try:
            _, errors = self._process.communicate(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            raise
        return self._process.returncode, errors

    def client(self) -> Client:
        """A new connection."""
        return Client(self.port)

    def get(self, path: str) -> Response:
        """One GET on a connection of its own."""
        return self.send("GET", path)

    def send(self, method: str, path: str, body: object = None, *headers: str) -> Response:
        """One request on a connection of its own; ``body`` is put into JSON."""
        with self.client() as client:
            client.request(method, path, b"" if body is None else json.dumps(body).encode(), *headers)
            return client.read()

    def chat(self, timetable: dict[str, Any] | None = None, **fields: Any) -> Response:
        """One streamed chat, with a script of its own."""
        body = {"messages": [{"role": "user", "content": "three short words"}], "stream": True, **fields}
        return self.send("POST", "/v1/chat/completions", {**body, "timetable": timetable or {}})

    def log(self, num_lines: int, after: int = 0) -> list[dict[str, Any]]:
        """The log, once it has at least so many lines after the first ``after``."""
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            lines = self.get(f"/timetable/log?after={after}").body.splitlines()
            if len(lines) >= num_lines:
                return [json.loads(line) for line in lines]
            time.sleep(0.01)
        raise AssertionError(f"no {num_lines} lines in the log")
