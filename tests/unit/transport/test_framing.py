"""Chunks come out as they went in, however the bytes are cut and the sizes are written."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.transport.framing import Chunked
from harness.transport.head import NotHttpError

SIZES = [b"%x\r\n", b"%X\r\n", b"00%x\r\n", b"%x;name=value\r\n", b"%x \r\n"]
ENDS = [b"0\r\n\r\n", b"000\r\n\r\n", b"0;last\r\nTrailer: x\r\n\r\n"]
CHUNKS = st.one_of(
    st.sampled_from([b"\r\n", b"0\r\n\r\n", b"5\r\nhello\r\n", b"x" * 255, b"x" * 256, b"x" * 5_000]),
    st.binary(min_size=1, max_size=20),
)


@given(
    chunks=st.lists(st.tuples(CHUNKS, st.sampled_from(SIZES)), max_size=8),
    end=st.sampled_from(ENDS),
    excess=st.sampled_from([b"", b"HTTP/1.1 200 OK\r\n"]),
    places=st.lists(st.integers(1, 3_000), max_size=5),
    at_borders=st.booleans(),
)
def test_any_cut(
    chunks: list[tuple[bytes, bytes]], end: bytes, excess: bytes, places: list[int], at_borders: bool
) -> None:
    framed = [size % len(data) + data + b"\r\n" for data, size in chunks]
    wire = b"".join(framed) + end + excess
    borders = list(itertools.accumulate(map(len, framed))) if at_borders else []
    edges = [0, *sorted({place for place in places + borders if place < len(wire)}), len(wire)]
    framing = Chunked()
    found = b""
    for a, b in itertools.pairwise(edges):
        if not framing.is_complete:
            found += framing.feed(wire[a:b])
    assert found == b"".join(data for data, _ in chunks)
    assert framing.is_complete


def test_what_comes_after_the_end_is_counted() -> None:
    framing = Chunked()
    assert framing.feed(b"5\r\nhello\r\n0\r\n\r\nmore") == b"hello"
    assert (framing.is_complete, framing.num_excess) == (True, 4)


@pytest.mark.parametrize("size", [b"0x5", b"+5", b"0_5", b" 5", b"-5"])
@pytest.mark.parametrize("cut", [1, 20])
def test_a_size_is_hexadecimal_digits_however_it_is_cut(size: bytes, cut: int) -> None:
    wire = size + b"\r\nhello\r\n0\r\n\r\n"
    pieces = [wire[at : at + cut] for at in range(0, len(wire), cut)]
    framing = Chunked()
    with pytest.raises(NotHttpError):
        list(map(framing.feed, pieces))


@pytest.mark.parametrize(
    "wire", [b"5\r\nhello!\r\n", b"5\r\nhell\r\n5\r\n", b"x\r\nhello\r\n", b"-5\r\nhello\r\n"]
)
def test_a_chunk_of_another_length_is_no_chunk(wire: bytes) -> None:
    framing = Chunked()
    with pytest.raises(NotHttpError):
        framing.feed(wire)


def test_a_fault_has_the_body_before_it() -> None:
    with pytest.raises(NotHttpError) as caught:
        Chunked().feed(b"3\r\nabc\r\n2\r\nde\r\nx\r\n")
    assert caught.value.body == b"abcde"
    framing = Chunked()
    with pytest.raises(NotHttpError) as caught:
        framing.feed(b"1\r\na\r\n0\r\nT: %s\r\n" % (b"x" * 9_000))
    assert caught.value.body == b"a"
