"""Heads and bodies of responses, as bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from http import HTTPStatus

JSON: Final = "application/json"
EVENT_STREAM: Final = "text/event-stream; charset=utf-8"
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"

Headers = Iterable[tuple[str, str]]


def response_head(status: HTTPStatus, content_type: str, headers: Headers, *, closes: bool) -> bytes:
    """Status line and headers, up to and including the blank line."""
    lines = [
        f"HTTP/1.1 {status.value} {status.phrase}",
        f"Content-Type: {content_type}",
        *(f"{name}: {value}" for name, value in headers),
        f"Connection: {'close' if closes else 'keep-alive'}",
    ]
    return "\r\n".join([*lines, "\r\n"]).encode("latin-1")


def whole_response(
    status: HTTPStatus, content_type: str, body: bytes, headers: Headers = (), *, closes: bool = False
) -> bytes:
    """A response whose length is known."""
    length = ("Content-Length", str(len(body)))
    return response_head(status, content_type, [length, *headers], closes=closes) + body


class BodyCoding(NamedTuple):
    """How a body of unknown length is sent.

    Attributes:
        headers: That say so.
        frame: Puts what is written at once into this form.
        ending: Ends the body.
    """

    headers: tuple[tuple[str, str], ...]
    frame: Callable[[bytes], bytes]
    ending: bytes


def _http_chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _as_it_is(data: bytes) -> bytes:
    return data


CHUNKED: Final = BodyCoding((("Transfer-Encoding", "chunked"),), _http_chunk, b"0\r\n\r\n")
UNTIL_CLOSE: Final = BodyCoding((), _as_it_is, b"")
"""For clients of HTTP/1.0, which don't know chunks: the end of the connection ends the body."""
