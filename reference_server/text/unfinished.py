"""Characters of which only the first bytes are there."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reference_server.text.tokenizer import Tokenizer

_LONGEST_CHARACTER = 4
"""Bytes of the longest character in UTF-8."""


def unfinished_tail(tokenizer: Tokenizer, token_ids: Sequence[int]) -> bytes:
    """The bytes at the end of a sequence that begin a character without completing it."""
    tail = b"".join(map(tokenizer.token_bytes, token_ids[-_LONGEST_CHARACTER:]))[-_LONGEST_CHARACTER:]
    for length in range(1, min(_LONGEST_CHARACTER, len(tail) + 1)):
        if not _continues_character(tail[-length]):
            return tail[-length:] if _decode(tail[-length:]) == "" else b""
    return b""


def is_sound(data: bytes) -> bool:
    """Whether the bytes are UTF-8 as far as they go."""
    return "\ufffd" not in _decode(data)


def _continues_character(byte: int) -> bool:
    return 0x80 <= byte < 0xC0


def _decode(data: bytes) -> str:
    return codecs.getincrementaldecoder("utf-8")("replace").decode(data)
