"""Text from tokens as they come: whole characters only, at a cost that does not grow with the length."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from reference_server.text.unfinished import is_sound, unfinished_tail
from reference_server.text.windowed_decoder import WindowedDecoder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reference_server.text.tokenizer import Tokenizer


class IncrementalDetokenizer:
    """Takes the tokens of one output, one by one, and gives the text that is certain.

    All that it gives, joined, is what :meth:`Tokenizer.decode` makes of the whole output, but for a character
    at its end that was not completed: that has no text.

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
            _ByteDecoder(unfinished_tail(tokenizer, prompt_ids))
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
        """End of the output: what was held back, but for a character that was not completed."""
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
        """Nothing: only the beginning of a character is ever held."""
        return ""

    def _leave_prompt(self, data: bytes) -> None:
        """The prompt's last bytes matter only if the output goes on with the same character."""
        if not is_sound(self._of_prompt + data[:1]):
            self._utf8.reset()
        self._of_prompt = b""
