"""Text from tokens as they come: whole characters only, at a cost that does not grow with the length."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from reference_server.text.windowed_decoder import WindowedDecoder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reference_server.text.tokenizer import Tokenizer

_LONGEST_CHARACTER = 4
"""Bytes of the longest character in UTF-8."""


class IncrementalDetokenizer:
    """Takes the tokens of one output, one by one, and gives the text that is certain.

    All that it gives, joined, is what :meth:`Tokenizer.decode` makes of the whole output.

    Args:
        tokenizer: The model's.
        skip_special_tokens: Leave out tokens that mark structure.
        prompt_ids: The prompt, for the case that it ends inside a character, which the output then completes.
            No text of the prompt is ever given.
    """

    def __init__(
        self, tokenizer: Tokenizer, skip_special_tokens: bool = True, prompt_ids: Sequence[int] = ()
    ) -> None:
        self._tokenizer = tokenizer
        self._skip_special_tokens = skip_special_tokens
        self._decoder = (
            _ByteDecoder(_unfinished_tail(tokenizer, prompt_ids))
            if tokenizer.is_byte_level
            else WindowedDecoder(tokenizer, prompt_ids)
        )

    def push(self, token_id: int) -> str:
        """Take the next token; returns the characters that are now complete, often none or one word."""
        if self._skip_special_tokens and self._tokenizer.is_special(token_id):
            return ""
        if isinstance(self._decoder, _ByteDecoder):
            return self._decoder.push(self._tokenizer.token_bytes(token_id))
        return self._decoder.push(token_id)

    def flush(self) -> str:
        """End of the output: what was held back, with U+FFFD for a character that never became complete."""
        return self._decoder.flush()


class _ByteDecoder:
    def __init__(self, unfinished: bytes) -> None:
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._utf8.decode(unfinished)
        self._of_prompt = unfinished

    def push(self, data: bytes) -> str:
        if self._of_prompt and data:
            self._leave_prompt(data)
        return self._utf8.decode(data)

    def flush(self) -> str:
        return "" if self._of_prompt else self._utf8.decode(b"", final=True)

    def _leave_prompt(self, data: bytes) -> None:
        """The prompt's last bytes matter only if the output goes on with the same character."""
        if not _is_sound(self._of_prompt + data[:1]):
            self._utf8.reset()
        self._of_prompt = b""


def _continues_character(byte: int) -> bool:
    return 0x80 <= byte < 0xC0


def _unfinished_tail(tokenizer: Tokenizer, token_ids: Sequence[int]) -> bytes:
    """The bytes at the end of a sequence that begin a character without completing it."""
    tail = b"".join(map(tokenizer.token_bytes, token_ids[-_LONGEST_CHARACTER:]))[-_LONGEST_CHARACTER:]
    for length in range(1, min(_LONGEST_CHARACTER, len(tail) + 1)):
        if not _continues_character(tail[-length]):
            return tail[-length:] if _decode(tail[-length:]) == "" else b""
    return b""


def _is_sound(data: bytes) -> bool:
    """Whether the bytes are UTF-8 as far as they go."""
    return "\ufffd" not in _decode(data)


def _decode(data: bytes) -> str:
    return codecs.getincrementaldecoder("utf-8")("replace").decode(data)
