"""Where a response body ends: the three framings of HTTP/1.1, bytes in, body bytes out."""

from __future__ import annotations

import enum
import functools
import re
from typing import TYPE_CHECKING, Final, Protocol

from harness.transport.head import NotHttpError, shown

if TYPE_CHECKING:
    from harness.transport.head import Head

_MAX_LINE_BYTES: Final = 8_192
_MAX_SIZE_BYTES: Final = 10
_SIZE_LINE: Final = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?")


class Framing(Protocol):
    """One body.

    Attributes:
        is_complete: True once the body is over.
        ends_by_close: True if closing the connection is the regular end.
        num_excess: Bytes that came after the end.
    """

    is_complete: bool
    ends_by_close: bool
    num_excess: int

    def feed(self, data: bytes) -> bytes:
        """The body bytes in ``data``.

        Raises:
            NotHttpError: The framing is broken; it has the body bytes before that.
        """


def framing_of(head: Head) -> Framing:
    """The framing of the body that follows ``head``.

    Raises:
        NotHttpError: The headers contradict each other or are beyond understanding.
    """
    coding = head.headers.get("transfer-encoding")
    if head.status in (204, 304):
        return Sized(0)
    if coding is not None:
        if coding.lower() != "chunked":
            raise NotHttpError(f"transfer-encoding {coding!r}, only chunked is understood")
        return Chunked()
    lengths = {length.strip() for length in head.headers.get("content-length", "").split(",")} - {""}
    if not lengths:
        return UntilClose()
    length = lengths.pop()
    if lengths or not (length.isascii() and length.isdigit()):
        raise NotHttpError(f"content-length {head.headers['content-length']!r}")
    return Sized(int(length[:18]))


class UntilClose:
    """The body ends when the server closes."""

    is_complete = False
    ends_by_close = True
    num_excess = 0

    def feed(self, data: bytes) -> bytes:
        """See ``Framing``."""
        return data


class Sized:
    """A body of known length."""

    ends_by_close = False

    def __init__(self, length: int) -> None:
        self.num_excess = 0
        self.is_complete = length == 0
        self._left = length

    def feed(self, data: bytes) -> bytes:
        """See ``Framing``."""
        self.num_excess += max(0, len(data) - self._left)
        body = data[: self._left]
        self._left -= len(body)
        self.is_complete = self._left == 0
        return body


class _Line(enum.Enum):
    """What the next line is, once the chunk before it is over."""

    SIZE = "size of a chunk"
    END = "end of a chunk"
    TRAILER = "trailer"


class Chunked:
    """A body in chunks, each after a line with its size in hexadecimal."""

    ends_by_close = False

    def __init__(self) -> None:
        self.is_complete = False
        self.num_excess = 0
        self._held = b""  # a line begun
        self._left = 0  # of the chunk
        self._line = _Line.SIZE
        self._is_between = True  # no chunk and no line has been begun

    def feed(self, data: bytes) -> bytes:
        """See ``Framing``."""
        if self._is_between:
            line = _only_size_line(len(data))
            if data.startswith(line) and data.endswith(b"\r\n"):
                return data[len(line) : -2]  # one chunk, as in most reads
        return self._feed_pieces(data)

    def _feed_pieces(self, data: bytes) -> bytes:
        data = self._held + data
        self._held = b""
        pieces: list[bytes] = []
        at = 0 if self._left or self._line is not _Line.SIZE else _take_plain_chunks(data, pieces)
        try:
            at = self._take_all(data, at, pieces)
        except NotHttpError as error:
            error.body = b"".join(pieces)
            raise
        if self.is_complete:
            self.num_excess += len(data) - at
        self._is_between = self._line is _Line.SIZE and not self._held
        return b"".join(pieces)

    def _take_all(self, data: bytes, at: int, pieces: list[bytes]) -> int:
        while at < len(data) and not self.is_complete:
            if self._left:
                at = self._take_chunk(data, at, pieces)
            elif self._line is _Line.SIZE and (end := _take_whole_chunks(data, at, pieces)) > at:
                at = end
            else:
                at = self._take_line(data, at)
        return at

    def _take_chunk(self, data: bytes, at: int, pieces: list[bytes]) -> int:
        piece = data[at : at + self._left]
        pieces.append(piece)
        self._left -= len(piece)
        return at + len(piece)

    def _take_line(self, data: bytes, at: int) -> int:
        end = data.find(b"\r\n", at)
        line = data[at:] if end < 0 else data[at:end]
        if len(line) > _MAX_LINE_BYTES or (self._line is _Line.END and line not in (b"", b"\r")):
            raise NotHttpError(f"broken chunks: {shown(line)}")
        if end < 0:
            if b"\n" in line:
                raise NotHttpError(f"broken chunks: a line that ends in LF without CR: {shown(line)}")
            self._held = line
            return len(data)
        self._end_line(line)
        return end + 2

    def _end_line(self, line: bytes) -> None:
        if self._line is _Line.END:
            self._line = _Line.SIZE
        elif self._line is _Line.TRAILER:
            self.is_complete = not line
        elif match := _SIZE_LINE.fullmatch(line):
            self._left = int(match[1], 16)
            self._line = _Line.END if self._left else _Line.TRAILER
        else:
            raise NotHttpError(f"a chunk size that is none: {shown(line)}")


@functools.lru_cache(maxsize=4_096)
def _only_size_line(num_bytes: int) -> bytes:
    """How so many bytes begin if they are a single chunk; what no chunk begins with if they can't be."""
    for num_digits in range(1, 16):
        line = b"%x\r\n" % max(1, num_bytes - num_digits - 4)
        if len(line) + len(b"\r\n") + int(line, 16) == num_bytes:
            return line
    return b"\n"


@functools.lru_cache(maxsize=4_096)
def _size(line: bytes) -> int:
    """The size that a line without an extension states; -1 for any other line, and for one that is too long.

    ``int`` also takes a sign, blanks, underscores and 0x; of these only an underscore can follow a digit.
    """
    if b"_" in line or len(line) > _MAX_SIZE_BYTES:
        return -1
    try:
        return int(b"1" + line, 16) - (1 << 4 * len(line))
    except ValueError:
        return -1


def _take_plain_chunks(data: bytes, pieces: list[bytes]) -> int:
    """Put the first whole chunks into ``pieces``, as far as they hold no line's end; returns where that is.

    What chunks hold seldom has CR and LF in it, so data is cut at these all at once and lengths are compared.
    """
    lines = data.split(b"\r\n")
    num_chunks = (len(lines) - 1) // 2
    heads, bodies = lines[: 2 * num_chunks : 2], lines[1 : 2 * num_chunks : 2]
    sizes, lengths = [*map(_size, heads)], [*map(len, bodies)]
    if sizes != lengths or 0 in sizes:
        num_chunks = next(i for i, size in enumerate(sizes) if size != lengths[i] or size == 0)
    pieces += bodies[:num_chunks]
    return sum(lengths[:num_chunks]) + sum(map(len, heads[:num_chunks])) + 4 * num_chunks


def _take_whole_chunks(data: bytes, at: int, pieces: list[bytes]) -> int:
    """Put the whole chunks from ``at`` on into ``pieces``; returns where something else begins."""
    while (cut := data.find(b"\r\n", at, at + _MAX_SIZE_BYTES)) > at:
        end = cut + 2 + _size(data[at:cut])
        if end < cut + 3 or data[end : end + 2] != b"\r\n":
            break
        pieces.append(data[cut + 2 : end])
        at = end + 2
    return at
