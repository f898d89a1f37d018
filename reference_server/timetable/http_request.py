"""Bytes in, requests out: as much of HTTP/1.1 as clients of a model server use, without sockets or clocks."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Final, NamedTuple

MAX_HEAD_BYTES: Final = 64 * 1024
MAX_HEADERS: Final = 256
MAX_BODY_BYTES: Final = 8 * 1024 * 1024
_MAX_CHUNK_LINE: Final = 1024
_MAX_LENGTH_DIGITS: Final = 20

_REQUEST_LINE: Final = re.compile(rb"([A-Z]{1,32}) (/[\x21-\x7e]*|\*|https?://[\x21-\x7e]+) HTTP/1\.([01])")
_HEADER_LINE: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x20-\x7e\x80-\xff\t]*)")
_CHUNK_LINE: Final = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(;[\x20-\x7e\t]*)?")
_ABSOLUTE: Final = re.compile(r"https?://[^/]*")


class BadRequestError(Exception):
    """These bytes are no request that is served here; the connection can't be used any more.

    Attributes:
        status: To answer with.
    """

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class HttpRequest(NamedTuple):
    """One whole request.

    Attributes:
        method: In capitals.
        path: Without the query.
        query: Without the question mark.
        headers: By lower-case name; of a repeated one, the last.
        body: Decoded from its transfer coding.
        version: The minor version of HTTP/1.
    """

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes
    version: int

    @property
    def keeps_alive(self) -> bool:
        """True if the client wants the connection to stay open after the answer."""
        wish = self.headers.get("connection", "").lower()
        return "close" not in wish if self.version else "keep-alive" in wish


class RequestParser:
    """Takes bytes as they come and gives requests one by one, pipelined ones too."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._head: HttpRequest | None = None
        self._length: int | None = 0
        self._chunks = bytearray()
        self._in_trailer = False

    def feed(self, data: bytes) -> None:
        """Add what was received."""
        self._buffer += data

    @property
    def num_buffered(self) -> int:
        """Bytes that wait for the rest of their request, or for their turn."""
        return len(self._buffer) + len(self._chunks)

    @property
    def expects_continue(self) -> bool:
        """True while the client waits for ``100 Continue`` before it sends the body."""
        waits = self._head is not None and self.num_buffered == 0
        return waits and self._head.headers.get("expect", "").lower() == "100-continue"  # type: ignore[union-attr]  # waits

    def next_request(self) -> HttpRequest | None:
        """The next whole request, or None until more bytes come.

        Raises:
            BadRequestError: Not HTTP/1, over a limit, or open to more than one reading.
        """
        if self._head is None and not self._take_head():
            return None
        assert self._head is not None
        body = self._take_chunked() if self._length is None else self._take_counted(self._length)
        if body is None:
            return None
        request, self._head = self._head._replace(body=body), None
        return request

    def _take_head(self) -> bool:
        buffer = self._buffer
        while buffer[:2] == b"\r\n":
            del buffer[:2]
        end = buffer.find(b"\r\n\r\n", 0, MAX_HEAD_BYTES + 4)
        if end < 0:
            self._check_beginning()
            return False
        lines = bytes(buffer[:end]).split(b"\r\n")
        del buffer[: end + 4]
        self._head = _parse_head(lines)
        self._length = _body_length(lines, self._head)
        return True

    def _check_beginning(self) -> None:
        """Refuse what can't become a request, before the rest of it is waited for."""
        line, newline, _ = bytes(self._buffer[:MAX_HEAD_BYTES]).partition(b"\n")
        if newline and not _REQUEST_LINE.fullmatch(line.removesuffix(b"\r")):
            raise BadRequestError(HTTPStatus.BAD_REQUEST, "The request line is malformed.")
        if len(self._buffer) > MAX_HEAD_BYTES:
            raise BadRequestError(
                HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"The head is over {MAX_HEAD_BYTES} bytes."
            )

    def _take_counted(self, length: int) -> bytes | None:
        if len(self._buffer) < length:
            return None
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        return body

    def _take_chunked(self) -> bytes | None:
        while True:
            line_end = self._buffer.find(b"\r\n", 0, _MAX_CHUNK_LINE)
            if line_end < 0:
                if len(self._buffer) >= _MAX_CHUNK_LINE:
                    raise BadRequestError(HTTPStatus.BAD_REQUEST, "A chunk's size line is too long.")
                return None
            if self._in_trailer:
                if self._take_trailer_line(line_end):
                    return self._joined_chunks()
            elif not self._take_chunk(line_end):
                return None

    def _take_chunk(self, line_end: int) -> bool:
        match = _CHUNK_LINE.fullmatch(bytes(self._buffer[:line_end]))
        if match is None:
            raise BadRequestError(HTTPStatus.BAD_REQUEST, "A chunk's size is malformed.")
        size = int(match[1], 16)
        _check_body_size(len(self._chunks) + size)
        begin, end = line_end + 2, line_end + 2 + size
        if size == 0:
            self._in_trailer = True
            del self._buffer[:begin]
            return True
        if len(self._buffer) < end + 2:
            return False
        if self._buffer[end : end + 2] != b"\r\n":
            raise BadRequestError(HTTPStatus.BAD_REQUEST, "A chunk is longer than its size.")
        self._chunks += self._buffer[begin:end]
        del self._buffer[: end + 2]
        return True

    def _take_trailer_line(self, line_end: int) -> bool:
        del self._buffer[: line_end + 2]
        return line_end == 0

    def _joined_chunks(self) -> bytes:
        body = bytes(self._chunks)
        self._chunks.clear()
        self._in_trailer = False
        return body


def _parse_head(lines: list[bytes]) -> HttpRequest:
    match = _REQUEST_LINE.fullmatch(lines[0])
    if match is None:
        raise BadRequestError(HTTPStatus.BAD_REQUEST, "The request line is malformed.")
    if len(lines) - 1 > MAX_HEADERS:
        raise BadRequestError(
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"There are more than {MAX_HEADERS} headers."
        )
    target = _ABSOLUTE.sub("", match[2].decode()) or "/"
    path, _, query = target.partition("?")
    headers = dict(_parse_header(line) for line in lines[1:])
    version = int(match[3])
    if version and "host" not in headers:
        raise BadRequestError(HTTPStatus.BAD_REQUEST, "The Host header is missing.")
    return HttpRequest(match[1].decode(), path, query, headers, b"", version)


def _parse_header(line: bytes) -> tuple[str, str]:
    match = _HEADER_LINE.fullmatch(line)
    if match is None:
        raise BadRequestError(HTTPStatus.BAD_REQUEST, "A header line is malformed.")
    return match[1].decode().lower(), match[2].decode("latin-1").rstrip()


def _body_length(lines: list[bytes], head: HttpRequest) -> int | None:
    """Bytes of the body, None for a chunked one."""
    names = [line.partition(b":")[0].lower() for line in lines[1:]]
    lengths, codings = names.count(b"content-length"), names.count(b"transfer-encoding")
    if lengths + codings > 1:
        raise BadRequestError(HTTPStatus.BAD_REQUEST, "The length of the body is given more than once.")
    if head.headers.get("content-encoding", "identity").lower() != "identity":
        raise BadRequestError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Compressed bodies are not taken.")
    if codings:
        _check_coding(head)
        return None
    written = head.headers.get("content-length", "0")
    if not (written.isascii() and written.isdigit() and len(written) < _MAX_LENGTH_DIGITS):
        raise BadRequestError(HTTPStatus.BAD_REQUEST, "Content-Length is no number.")
    _check_body_size(int(written))
    return int(written)


def _check_coding(head: HttpRequest) -> None:
    if head.headers["transfer-encoding"].lower() != "chunked" or not head.version:
        raise BadRequestError(HTTPStatus.NOT_IMPLEMENTED, "Only the transfer coding chunked is taken.")


def _check_body_size(num_bytes: int) -> None:
    if num_bytes > MAX_BODY_BYTES:
        raise BadRequestError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"The body is over {MAX_BODY_BYTES} bytes."
        )
