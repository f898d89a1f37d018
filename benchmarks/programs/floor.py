"""The least that a client on uvloop can do: closed loop, stamp, keep bytes. Events are looked for afterwards.

floor.py URL MODEL STREAMS REQUESTS TOKENS FILE
"""

from __future__ import annotations

import asyncio
import gc
import json
import re
import sys
from pathlib import Path
from time import monotonic_ns
from urllib.parse import urlsplit

import uvloop

_END = b"0\r\n\r\n"
_TOKEN = re.compile(rb'"(?:content|text)":"[^"]')

Times = tuple[str, int, list[int]]


class Stream(asyncio.Protocol):
    """One connection that sends one request after another.

    Attributes:
        answers: Of each request its id, when it was sent, and its reads with their times.
    """

    _transport: asyncio.Transport

    def __init__(self, client: Client) -> None:
        self._client = client
        self.answers: list[tuple[str, int, list[tuple[int, bytes]]]] = []

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # a socket's
        """Begin."""
        self._transport = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        """The hot path."""
        self._reads.append((monotonic_ns(), data))
        if data.endswith(_END):
            self._send()

    def _send(self) -> None:
        index = self._client.take()
        if index is None:
            self._transport.close()
            self._client.ended()
            return
        self._reads: list[tuple[int, bytes]] = []
        request_id = f"floor-{index}"
        request = self._client.request(request_id)
        self.answers.append((request_id, monotonic_ns(), self._reads))
        self._transport.write(request)


class Client:
    """Counts requests."""

    def __init__(self, host: str, model: str, streams: int, requests: int, tokens: int) -> None:
        message = {"role": "user", "content": "one two three four five six seven eight"}
        body = {"model": model, "messages": [message], "max_tokens": tokens, "stream": True}
        self._body = json.dumps(body).encode()
        self._head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(self._body)}\r\nX-Request-Id: "
        ).encode()
        self._num_left, self._num_taken, self._num_open = requests, 0, streams
        self.over = asyncio.Event()

    def take(self) -> int | None:
        """The index of the next request."""
        if self._num_taken == self._num_left:
            return None
        self._num_taken += 1
        return self._num_taken - 1

    def request(self, request_id: str) -> bytes:
        """Head and body."""
        return b"%b%b\r\n\r\n%b" % (self._head, request_id.encode(), self._body)

    def ended(self) -> None:
        """A stream has no request left."""
        self._num_open -= 1
        if not self._num_open:
            self.over.set()


async def run(url: str, model: str, streams: int, requests: int, tokens: int) -> list[Times]:
    """All requests, and when the chunks of each came."""
    parts = urlsplit(url)
    client = Client(parts.netloc, model, min(streams, requests), requests, tokens)
    loop = asyncio.get_running_loop()
    made = [
        await loop.create_connection(lambda: Stream(client), parts.hostname or "", parts.port or 80)
        for _ in range(min(streams, requests))
    ]
    await client.over.wait()
    return [times_of(*answer) for _, stream in made for answer in stream.answers]


def times_of(request_id: str, sent_ns: int, reads: list[tuple[int, bytes]]) -> Times:
    """The time of each chunk: of the read in which its event began."""
    starts, stamps, end = [], [], 0
    for stamp, data in reads:
        starts.append(end)
        stamps.append(stamp)
        end += len(data)
    found, read = [], 0
    for match in _TOKEN.finditer(b"".join(data for _, data in reads)):
        while read + 1 < len(starts) and starts[read + 1] <= match.start():
            read += 1
        found.append(stamps[read])
    return request_id, sent_ns, found


def main(url: str, model: str, streams: str, requests: str, tokens: str, path: str) -> None:
    """Run, then write the times."""
    gc.disable()
    times = uvloop.run(run(url, model, int(streams), int(requests), int(tokens)))
    Path(path).write_text(json.dumps(times))


if __name__ == "__main__":
    main(*sys.argv[1:])
