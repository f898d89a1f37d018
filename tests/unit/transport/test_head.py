"""What can't become the head of a reply is known before its blank line, and told."""

from __future__ import annotations

import pytest

from harness.transport.head import NotHttpError, check_begun, parse_head

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX: \r\n"


@pytest.mark.parametrize("size", range(len(HEAD) + 1))
def test_a_head_may_be_cut_anywhere(size: int) -> None:
    check_begun(HEAD[:size])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"S", "it begins S"),
        (b"220 mail ESMTP\r\n", "it begins 220 mail ESMTP"),
        (b"HTTP/2 200\r\n", "it begins HTTP/2 200"),
        (b"HTTP/1.1 20\r\n", "it begins HTTP/1.1 20"),
        (b"\0\0\x12\4\xff", r"it begins \x00\x00\x12\x04\xff"),
        (b"\x16\3\1", r"but TLS (use an https:// address): it begins \x16\x03\x01"),
        (b"HTTP/1.1 200 OK\n", r"LF without CR, it begins HTTP/1.1 200 OK\n"),
        (b"HTTP/1.1 200 OK\r\nA: b\n\nhello", r"it begins HTTP/1.1 200 OK\r\nA: b"),
        ("Grüß \x1b[1mGott\n".encode(), r"it begins Grüß \x1b[1mGott"),
    ],
)
def test_what_can_be_none(data: bytes, message: str) -> None:
    with pytest.raises(NotHttpError) as caught:
        check_begun(data)
    assert str(caught.value).endswith(message)


def test_A9_01_what_is_told_is_whole_so_that_a_key_in_it_can_be_masked() -> None:
    """As a server that echoes sends it back."""
    line = b"POST /v1/chat/completions?key=%s HTTP/1.1" % (b"k" * 5_000)
    for raises in (lambda: check_begun(line), lambda: parse_head(line + b"\r\nHost: x")):
        with pytest.raises(NotHttpError, match="k" * 5_000):
            raises()
