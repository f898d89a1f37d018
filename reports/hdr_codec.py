"""The serial forms of HdrHistogram, from the text of a log down to the counts.

Text is base64 of: cookie, length, zlib of a payload. A payload is a header and the counts: as words
of 2, 4 or 8 bytes in V0 and V1, in V2 as ZigZag LEB128 with runs of zeros as negative numbers.

This module is the only one that knows the hdrhistogram library, which reads and writes the V2 form.
"""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from typing import Any, NamedTuple

import numpy as np
from hdrh.codec import HdrCookieException, HdrHistogramEncoder, HdrLengthException
from hdrh.histogram import HdrHistogram

from reports.hdr_errors import DecodeError, HistogramError
from reports.hdr_layout import IntArray, Layout
from reports.histogram import Histogram

V0, V1, V2 = 0x1C849308, 0x1C849301, 0x1C849303
_COMPRESSED = {0x1C849309, 0x1C849302, 0x1C849304}
_MAX_PAYLOAD_BYTES = 64 << 20


class _Payload(NamedTuple):
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


def encode(histogram: Histogram) -> str:
    """The V2 compressed form in base64 (``HISTFAAA...``), as logs hold it."""
    return str(_as_hdrh(histogram).encode(), "ascii")


def encode_payload(histogram: Histogram) -> bytes:
    """The V2 form, neither compressed nor in base64."""
    return zlib.decompress(_as_hdrh(histogram).encoder.payload.compress(histogram.counts.size))


def decode(data: str | bytes) -> Histogram:
    """Read base64 text, or the bytes behind it, of version 0, 1 or 2, compressed or not.

    Minimum, maximum and mean of the new histogram are those of its buckets.

    Raises:
        DecodeError: It is no histogram.
    """
    body = _inflated(_from_text(data) if isinstance(data, str) else data)
    payload = _parsed(body)
    counts = _counts_of_v2(body, payload.layout) if payload.version == 2 else _counts_of_words(payload)
    return Histogram.from_counts(payload.layout, counts)


def _as_hdrh(histogram: Histogram) -> Any:  # noqa: ANN401 (the library has no types)
    layout, counts = histogram.layout, histogram.counts
    twin = HdrHistogram(layout.lowest, layout.highest, layout.digits)
    np.ctypeslib.as_array(twin.counts)[: counts.size] = counts
    twin.total_count = histogram.n
    twin.min_value, twin.max_value = (histogram.minimum, histogram.maximum) if histogram.n else (0, 0)
    return twin


def _counts_of_v2(body: bytes, layout: Layout) -> IntArray:
    try:
        payload = HdrHistogramEncoder.decode(zlib.compress(body, 1), b64_wrap=False)
        payload.init_counts(layout.length)
    except (HdrCookieException, HdrLengthException, ValueError, IndexError, OverflowError) as error:
        raise DecodeError(f"histogram's counts can't be read ({error}); the text is damaged") from error
    return _within(layout, np.ctypeslib.as_array(payload.counts).astype(np.int64))


def _from_text(text: str | bytes) -> bytes:
    """The bytes behind a log's base64 column."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise DecodeError(f"histogram is no base64 ({error}); the text is cut or damaged") from error


def _inflated(data: bytes) -> bytes:
    """The payload of a compressed histogram; one that isn't compressed is handed back."""
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


def _parsed(data: bytes) -> _Payload:
    """Split a payload into header and counts."""
    try:
        cookie = struct.unpack_from(">I", data)[0]
        base, word_size = cookie & ~0xF0, (cookie & 0xF0) >> 4
        if base == V0:
            digits, lowest, highest = struct.unpack_from(">IQQ", data, 4)
            return _Payload(0, Layout(lowest, highest, digits), word_size, data[32:])
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


def _checked(base: int, length: int, offset: int, layout: Layout, word_size: int, counts: bytes) -> _Payload:
    if length > len(counts) + 40:  # some encoders count the header in
        raise DecodeError(f"histogram says {length} bytes of counts and has {len(counts)}")
    if offset and any(counts[:length]):
        raise DecodeError("histogram with a normalizing index offset (a shifted one) is not read")
    return _Payload(1 if base == V1 else 2, layout, word_size, counts[:length])


def _counts_of_words(payload: _Payload) -> IntArray:
    """The counts of a V0 or V1 payload."""
    if payload.word_size not in (2, 4, 8):
        raise DecodeError(f"counts of {payload.word_size} bytes; 2, 4 and 8 are read")
    whole = len(payload.data) // payload.word_size * payload.word_size
    counts = np.frombuffer(payload.data[:whole], dtype=f">i{payload.word_size}").astype(np.int64)
    return _within(payload.layout, counts)


def _within(layout: Layout, counts: IntArray) -> IntArray:
    """``counts`` up to the last that isn't zero."""
    used = np.flatnonzero(counts)
    counts = counts[: int(used[-1]) + 1 if used.size else 0]
    if counts.size > layout.length or (counts < 0).any():
        raise DecodeError("histogram's counts don't fit its header; the text is damaged")
    return counts
