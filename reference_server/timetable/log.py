"""The log: what the server did, request by request; the truth that a client's figures are held against."""

from __future__ import annotations

import itertools
from array import array
from collections import deque
from typing import TYPE_CHECKING, BinaryIO

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_LINES_KEPT = 100_000


def _no_stamps() -> array[int]:
    return array("q")


class Entry(msgspec.Struct, kw_only=True):
    """One request. All ``*_ns`` are ``time.monotonic_ns()``, the same clock for every process of a machine.

    Attributes:
        index: In order of arrival, from 0.
        request_id: The client's ``X-Request-Id``, None without one.
        endpoint: The path.
        stream: Answered as an event stream.
        arrival_ns: The request's last byte was read.
        start_ns: Service began: at once, unless the capacity was taken.
        headers_ns: Just before the response head was handed to the kernel.
        token_ns: For each token, the time just before the bytes that complete it were handed to the kernel.
        tokens_per_chunk: Tokens in each token-bearing event (the last may have fewer).
        done_ns: Just before the last bytes, or when the client was found gone.
        outcome: ``ok``, the fault's name, ``client_left``, ``slow_reader`` or ``server_stopped``.
        prompt_tokens: As told in usage.
        completion_tokens: Sent.
        finish_reason: None if none was sent.
        max_late_ns: The worst delay of a write against the script.
        num_held_back: Writes that the kernel did not take at once, because the client reads too slowly.
    """

    index: int
    request_id: str | None
    endpoint: str
    stream: bool
    arrival_ns: int
    start_ns: int | None = None
    headers_ns: int | None = None
    token_ns: array[int] = msgspec.field(default_factory=_no_stamps)
    tokens_per_chunk: int = 1
    done_ns: int | None = None
    outcome: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    finish_reason: str | None = None
    max_late_ns: int = 0
    num_held_back: int = 0

    def line(self) -> bytes:
        """JSON, ended by a newline."""
        return msgspec.json.encode(self, enc_hook=_encode) + b"\n"


class Log:
    """The finished requests, in the order in which they finished.

    Args:
        path: A file that gets a line per request, flushed. The newest 100,000 are kept in memory as well.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._file: BinaryIO | None = path.open("wb") if path else None
        self._entries: deque[Entry] = deque(maxlen=MAX_LINES_KEPT)
        self._num_appended = 0

    def append(self, entry: Entry) -> None:
        """Add a finished request."""
        self._entries.append(entry)
        self._num_appended += 1
        if self._file:
            self._file.write(entry.line())
            self._file.flush()

    def lines(self, after: int = 0) -> Iterator[bytes]:
        """The lines after the first ``after``, as far as they are kept."""
        dropped = self._num_appended - len(self._entries)
        for entry in itertools.islice(self._entries, max(0, after - dropped), None):
            yield entry.line()

    def clear(self) -> None:
        """Forget what is kept in memory; the file keeps its lines."""
        self._entries.clear()
        self._num_appended = 0

    def close(self) -> None:
        """Close the file."""
        if self._file:
            self._file.close()


def _encode(value: object) -> list[int]:
    assert isinstance(value, array)
    return value.tolist()
