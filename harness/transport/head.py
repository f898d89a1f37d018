"""The head of an HTTP/1.1 response."""

from __future__ import annotations

import re
from typing import Final

import msgspec

MAX_HEAD_BYTES: Final = 65_536
TOO_LONG: Final = f"a response head of more than {MAX_HEAD_BYTES:,} bytes"
MAX_SHOWN_BYTES: Final = 16_384
_BEGIN: Final = b"HTTP/1."
_STATUS_LINE: Final = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: [^\r\n]*)?")
_FOLD: Final = re.compile(rb"\r\n[ \t]+")
"""A line that goes on in the next: obsolete, and to be read as a blank (RFC 9112, 5.2)."""
_TLS_RECORDS: Final = (b"\x15\x03", b"\x16\x03")


class NotHttpError(ValueError):
    """What the server sent can't be an HTTP/1.1 reply.

    Attributes:
        body: Body bytes that came before the fault, in the same read.
    """

    body: bytes = b""


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
    status_line, *lines = _FOLD.sub(b" ", data).split(b"\r\n")
    match = _STATUS_LINE.fullmatch(status_line)
    if match is None:
        raise _no_reply(status_line or data)
    headers: dict[str, str] = {}
    for line in lines:
        name, value = _field(line)
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    options = headers.get("connection", "").lower()
    keeps_alive = "close" not in options if match[1] == b"1" else "keep-alive" in options
    return Head(int(match[2]), headers, keeps_alive)


def check_begun(data: bytes) -> None:
    """Refuse what can't become a head any more, before the blank line that would end it.

    Args:
        data: All that has come.

    Raises:
        NotHttpError: Another protocol, or lines that end in LF alone.
    """
    line, is_whole, _ = data.partition(b"\n")
    if not is_whole:
        if not line.startswith(_BEGIN) and not _BEGIN.startswith(line):
            raise _no_reply(line)
        return
    if _STATUS_LINE.fullmatch(line.removesuffix(b"\r")) is None:
        raise _no_reply(line.removesuffix(b"\r") or data)
    if not line.endswith(b"\r") or b"\n\n" in data:
        head = data.partition(b"\n\n")[0]
        raise NotHttpError(f"no HTTP/1.1 reply: lines end in LF without CR, it begins {shown(head)}")


def shown(data: bytes) -> str:
    """Bytes as a text without control characters; what isn't UTF-8 is escaped.

    It is cut to be read only where secrets have been taken out: a part of one would not be known for it.
    """
    text = data[:MAX_SHOWN_BYTES].decode("utf-8", "backslashreplace")
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def _no_reply(begun: bytes) -> NotHttpError:
    instead = " but TLS (use an https:// address)" if begun.startswith(_TLS_RECORDS) else ""
    return NotHttpError(f"no HTTP/1.1 reply{instead}: it begins {shown(begun)}")


def _field(line: bytes) -> tuple[str, str]:
    name, colon, value = line.partition(b":")
    if not colon or not name or name != name.strip():
        raise NotHttpError(f"a header line that is none: {shown(line)}")
    return name.decode("latin-1").lower(), value.strip(b" \t").decode("latin-1")
