"""What a server does to a request, step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from support.replay_server import CHUNKED_HEAD, LAST_CHUNK, Ending, Replay

CLOSE, RESET, STALL = Ending.CLOSE, Ending.RESET, Ending.STALL
Step = bytes | float | Ending
"""Bytes to send, seconds to wait, or how it ends; without an ending the connection stays open."""

Script = Callable[[int], Sequence[Step]]
"""From the number of the request, counted over all connections, to what happens to it."""

HEAD = CHUNKED_HEAD
LAST = LAST_CHUNK


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def sized(body: bytes, extra: bytes = b"") -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n%s\r\n%s" % (len(body), extra, body)


def replay_of(steps: Sequence[Step]) -> Replay:
    pieces: list[tuple[float, bytes]] = []
    wait_s = 0.0
    for step in steps:
        if isinstance(step, Ending):
            return Replay(b"", [*pieces, (wait_s, b"")], step)
        if isinstance(step, bytes):
            pieces.append((wait_s, step))
        wait_s = step if isinstance(step, float) else 0.0
    return Replay(b"", pieces, Ending.KEEP)
