"""The head of an HTTP/1.1 response."""

from __future__ import annotations

import re
from typing import Final

import msgspec

MAX_HEAD_BYTES: Final = 65_536
_STATUS_LINE: Final = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: [^\r\n]*)?")


class NotHttpError(ValueError):
    """What the server sent can't be an HTTP/1.1 reply."""


class Head(msgspec.Struct, frozen=True):
    """Status and headers.

    Attributes:
        status: Three digits.
        headers: By lower-case name; several of one name joined by a comma.
        keeps_alive: True if the server means to keep the connection.
    """

    status: int
    headers: dict[str, str]
    keeps_alive: bool


def parse_head(data: bytes) -> Head:
    """Parse a head, without the blank line that ends it.

    Raises:
        NotHttpError: It is none.
    """
    status_line, *lines = data.split(b"\r\n")
    match = _STATUS_LINE.fullmatch(status_line)
    if match is None:
        raise NotHttpError(f"no HTTP/1.1 reply: it begins {status_line[:60]!r}")
    headers: dict[str, str] = {}
    for line in lines:
        name, value = _field(line)
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    options = headers.get("connection", "").lower()
    keeps_alive = "close" not in options if match[1] == b"1" else "keep-alive" in options
    return Head(int(match[2]), headers, keeps_alive)


def _field(line: bytes) -> tuple[str, str]:
    name, colon, value = line.partition(b":")
    if not colon or not name or name != name.strip():
        raise NotHttpError(f"a header line that is none: {line[:60]!r}")
    return name.decode("latin-1").lower(), value.strip(b" \t").decode("latin-1")
