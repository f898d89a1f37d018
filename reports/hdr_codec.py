"""The serial forms of HdrHistogram, from the text of a log down to the counts.

Text is base64 of: cookie, length, zlib of a payload. A payload is a header and the counts: as words
of 2, 4 or 8 bytes in V0 and V1, in V2 as ZigZag LEB128 with runs of zeros as negative numbers.
"""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from typing import NamedTuple

import numpy as np

from reports.hdr_errors import DecodeError, HistogramError
from reports.hdr_layout import IntArray, Layout

V0, V1, V2 = 0x1C849308, 0x1C849301, 0x1C849303
_COMPRESSED = {0x1C849309, 0x1C849302, 0x1C849304}
_MAX_PAYLOAD_BYTES = 64 << 20


class Payload(NamedTuple):
    """A histogram's header and its counts, still serial.

    Attributes:
        version: 0, 1 or 2.
        layout: As the header says.
        word_size: Bytes of a count in V0 and V1.
        data: The counts.
    """

    version: int
    layout: Layout
    word_size: int
    data: bytes


def from_text(text: str | bytes) -> bytes:
    """The bytes behind a log's base64 column.

    Raises:
        DecodeError: Not base64.
    """
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise DecodeError(f"histogram is no base64 ({error}); the text is cut or damaged") from error


def inflate(data: bytes) -> bytes:
    """The payload of a compressed histogram; one that isn't compressed is handed back.

    Raises:
        DecodeError: Unknown cookie, wrong length, damaged or oversized content.
    """
    if len(data) < 8:
        raise DecodeError(f"histogram of {len(data)} bytes; the text is cut")
    cookie, length = struct.unpack_from(">II", data)
    if cookie & ~0xF0 not in _COMPRESSED:
        return data
    if length != len(data) - 8:
        raise DecodeError(f"histogram says {length} bytes and has {len(data) - 8}; the text is cut")
    inflater = zlib.decompressobj()
    try:
        payload = inflater.decompress(data[8:], _MAX_PAYLOAD_BYTES)
    except zlib.error as error:
        raise DecodeError(f"histogram can't be inflated ({error}); the text is damaged") from error
    if not inflater.eof:
        raise DecodeError("histogram is cut, or larger than any histogram can be")
    return payload


def parse(data: bytes) -> Payload:
    """Split a payload into header and counts.

    Raises:
        DecodeError: Unknown cookie or a header that makes no sense.
    """
    try:
        cookie = struct.unpack_from(">I", data)[0]
        base, word_size = cookie & ~0xF0, (cookie & 0xF0) >> 4
        if base == V0:
            digits, lowest, highest = struct.unpack_from(">IQQ", data, 4)
            return Payload(0, Layout(lowest, highest, digits), word_size, data[32:])
        if base in (V1, V2):
            length, offset, digits, lowest, highest = struct.unpack_from(">IIIQQ", data, 4)
            return _checked(base, length, offset, Layout(lowest, highest, digits), word_size, data[40:])
    except struct.error as error:
        raise DecodeError(f"histogram's header is cut ({error})") from error
    except DecodeError:
        raise
    except HistogramError as error:
        raise DecodeError(f"histogram's header is damaged: {error}") from error
    raise DecodeError(f"cookie {cookie:#x} is no HdrHistogram; versions 0, 1 and 2 are read")


def _checked(base: int, length: int, offset: int, layout: Layout, word_size: int, counts: bytes) -> Payload:
    if length > len(counts) + 40:  # some encoders count the header in
        raise DecodeError(f"histogram says {length} bytes of counts and has {len(counts)}")
    if offset and any(counts[:length]):
        raise DecodeError("histogram with a normalizing index offset (a shifted one) is not read")
    return Payload(1 if base == V1 else 2, layout, word_size, counts[:length])


def counts_of_words(payload: Payload) -> IntArray:
    """The counts of a V0 or V1 payload.

    Raises:
        DecodeError: Unknown word size, or more counts than the range has buckets.
    """
    if payload.word_size not in (2, 4, 8):
        raise DecodeError(f"counts of {payload.word_size} bytes; 2, 4 and 8 are read")
    whole = len(payload.data) // payload.word_size * payload.word_size
    counts = np.frombuffer(payload.data[:whole], dtype=f">i{payload.word_size}").astype(np.int64)
    return within(payload.layout, counts)


def within(layout: Layout, counts: IntArray) -> IntArray:
    """``counts`` up to the last that isn't zero.

    Raises:
        DecodeError: A negative count, or one beyond the layout's buckets.
    """
    used = np.flatnonzero(counts)
    counts = counts[: int(used[-1]) + 1 if used.size else 0]
    if counts.size > layout.length or (counts < 0).any():
        raise DecodeError("histogram's counts don't fit its header; the text is damaged")
    return counts
