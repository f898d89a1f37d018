"""Server-sent events: bytes in, events out, as the WHATWG standard parses them. No I/O, no clock.

Lines end in LF, CR or CRLF and nothing else; the pieces may be cut anywhere. An event is complete with
the blank line that ends it; one that the stream leaves unfinished is dropped.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np

IntArray: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"

MAX_EVENT_BYTES: Final = 4 * 1024 * 1024
MAX_STRAY_BYTES: Final = 64 * 1024
_BOM: Final = b"\xef\xbb\xbf"
_FIELDS: Final = frozenset((b"data", b"event", b"id", b"retry", b""))  # without a name: a comment
_PLAIN_START: Final = b"data: "
_PLAIN_END: Final = b"\n\n"


class EventTooLargeError(ValueError):
    """An event holds more bytes than the parser may keep."""


class Event(msgspec.Struct, frozen=True):
    """One event.

    Attributes:
        data: Its data lines joined by LF, as sent; UTF-8 if the server keeps to the standard.
        name: Its type, ``message`` where it has none.
        id: The last event id seen, None if there was none.
    """

    data: bytes
    name: str = "message"
    id: str | None = None


class SseParser:
    """Parses one stream.

    Attributes:
        last_event_id: Of the last dispatched event; empty if the stream set none.
        retry_ms: The reconnection time that the server asked for, None if it did not.
        num_events: So many have been handed out.
    """

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self.last_event_id = ""
        self.retry_ms: int | None = None
        self.num_events = 0
        self._max_event_bytes = max_event_bytes
        self._at_start = True
        self._is_between = True  # no event has been begun
        self._after_cr = False
        self._line = bytearray()
        self._data: list[bytes] = []
        self._num_bytes = 0
        self._name = b""
        self._id: str | None = None
        self._strays: deque[tuple[int, bytes]] = deque()
        self._num_stray_bytes = 0

    def feed(self, data: bytes) -> list[Event]:
        """The events that ``data`` completes.

        Raises:
            EventTooLargeError: An event outgrows the limit. The parser can't be used any more.
        """
        events = self._feed_lines(data)
        self._is_between = not (self._line or self._data or self._after_cr or self._name)
        return events

    def feed_plain(self, data: bytes) -> tuple[list[bytes], IntArray] | None:
        """The data of the events in ``data`` if all of them are whole and plain, else None.

        Plain is an event of one ``data: `` line and a blank one, ended by LF, as most servers send them.
        Where the answer is None nothing has been taken, and ``feed`` is to be used.

        Returns:
            The data of each event, and the index in ``data`` of its last byte.
        """
        is_whole = self._is_between and data.startswith(_PLAIN_START) and data.endswith(_PLAIN_END)
        if not is_whole or b"\r" in data or len(data) > self._max_event_bytes:
            return None
        events = data[len(_PLAIN_START) : -len(_PLAIN_END)].split(_PLAIN_END + _PLAIN_START)
        if data.count(b"\n") != len(_PLAIN_END) * len(events):
            return None
        self._at_start = False
        self.num_events += len(events)
        sizes = np.fromiter(map(len, events), np.int64, len(events)) + len(_PLAIN_START + _PLAIN_END)
        return events, sizes.cumsum() - 1

    def strays(self, num_events: int) -> list[bytes]:
        """Lines that are no field of the standard's, of those that came after so many events.

        Of many lines the last are kept.
        """
        return [line for number, line in self._strays if number >= num_events]

    def rest(self) -> Event | None:
        """The event that the stream left unfinished, of which the standard knows nothing.

        The parser can't be used any more.
        """
        line = bytes(self._line)
        self._line.clear()
        return (self._end_line(line) if line else None) or self._dispatch()

    def _feed_lines(self, data: bytes) -> list[Event]:
        data = self._without_start(data)
        if self._after_cr and data:
            self._after_cr = False
            data = data.removeprefix(b"\n")
        if not data:
            return []
        self._after_cr = data.endswith(b"\r")
        ends_line = self._after_cr or data.endswith(b"\n")
        lines = data.splitlines()
        if self._line:
            self._line += lines[0]
            lines[0] = b""
            if len(lines) > 1 or ends_line:
                lines[0], self._line = bytes(self._line), bytearray()
        if not ends_line:
            self._line += lines.pop()
        events = [event for line in lines if (event := self._end_line(line)) is not None]
        self._check_size()
        return events

    def _without_start(self, data: bytes) -> bytes:
        """Take the byte order mark off the very start of the stream, which may come in pieces."""
        if not self._at_start:
            return data
        start = bytes(self._line) + data
        if len(start) < len(_BOM) and _BOM.startswith(start):
            self._line = bytearray(start)
            return b""
        self._at_start = False
        self._line.clear()
        return start.removeprefix(_BOM)

    def _end_line(self, line: bytes) -> Event | None:
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")
        if field in _FIELDS:
            self._take_field(field, value.removeprefix(b" "))
        else:
            self._keep_stray(line[:MAX_STRAY_BYTES])
        return None

    def _take_field(self, field: bytes, value: bytes) -> None:
        if field == b"data":
            self._data.append(value)
            self._num_bytes += len(value)
            self._check_size()
        elif field == b"event":
            self._name = value
        elif field == b"id":
            if b"\0" not in value:
                self._id = value.decode(errors="replace")
        elif field == b"retry" and value.isdigit() and value.isascii():
            self.retry_ms = int(value[:18])

    def _keep_stray(self, line: bytes) -> None:
        self._strays.append((self.num_events + bool(self._data), line))  # behind data: behind its event
        self._num_stray_bytes += len(line)
        while self._num_stray_bytes > MAX_STRAY_BYTES:
            self._num_stray_bytes -= len(self._strays.popleft()[1])

    def _dispatch(self) -> Event | None:
        data, name = self._data, self._name
        self._data, self._name, self._num_bytes = [], b"", 0
        self.last_event_id = self._id or ""
        if not data:
            return None
        self.num_events += 1
        return Event(b"\n".join(data), name.decode(errors="replace") or "message", self._id)

    def _check_size(self) -> None:
        if self._num_bytes + len(self._line) > self._max_event_bytes:
            raise EventTooLargeError(f"an event of more than {self._max_event_bytes:,} bytes")
