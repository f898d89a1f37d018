"""Server-sent events: bytes in, events out, as the WHATWG standard parses them. No I/O, no clock.

Lines end in LF, CR or CRLF and nothing else; the pieces may be cut anywhere. An event is complete with
the blank line that ends it; one that the stream leaves unfinished is dropped.
"""

from __future__ import annotations

from typing import Final

import msgspec

MAX_EVENT_BYTES: Final = 4 * 1024 * 1024
_BOM: Final = b"\xef\xbb\xbf"


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
    """

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self.last_event_id = ""
        self.retry_ms: int | None = None
        self._max_event_bytes = max_event_bytes
        self._at_start = True
        self._is_fresh = True  # nothing earlier bears on what comes next
        self._after_cr = False
        self._line = bytearray()
        self._data: list[bytes] = []
        self._num_bytes = 0
        self._name = b""
        self._id: str | None = None

    def feed(self, data: bytes) -> list[Event]:
        """The events that ``data`` completes.

        Raises:
            EventTooLargeError: An event outgrows the limit. The parser can't be used any more.
        """
        if self._is_fresh and (simple := _simple_events(data)) is not None:
            self._at_start = False
            return simple
        events = self._feed_lines(data)
        begun = self._line or self._data or self._after_cr or self._name or self._id is not None
        self._is_fresh = not begun
        return events

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
        self._take_field(field, value.removeprefix(b" "))
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

    def _dispatch(self) -> Event | None:
        data, name = self._data, self._name
        self._data, self._name, self._num_bytes = [], b"", 0
        self.last_event_id = self._id or ""
        if not data:
            return None
        return Event(b"\n".join(data), name.decode(errors="replace") or "message", self._id)

    def _check_size(self) -> None:
        if self._num_bytes + len(self._line) > self._max_event_bytes:
            raise EventTooLargeError(f"an event of more than {self._max_event_bytes:,} bytes")


def _simple_events(data: bytes) -> list[Event] | None:
    """The events of ``data`` if each is one ``data:`` line and a blank one ending in LF, else None."""
    if not data.endswith(b"\n\n") or b"\r" in data:
        return None
    if data.find(b"\n") == len(data) - 2 and data.startswith(b"data: "):
        return [Event(data[6:-2])]
    parts = data[:-2].split(b"\n\n")
    if any(not part.startswith(b"data: ") or b"\n" in part for part in parts):
        return None
    return [Event(part[6:]) for part in parts]
