"""Incremental decoding for vocabularies whose text is more than the bytes of their tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.text.unfinished import unfinished_tail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reference_server.text.tokenizer import Tokenizer

_CONTEXT = 5
"""Tokens before the new ones that decide how these are written (a leading space is dropped in front)."""

_MAX_HELD = 8
"""Tokens after which no character can still become complete; what is held then is invalid."""

_REPLACEMENT = "\ufffd"


class WindowedDecoder:
    """Decodes a short window twice, with and without the new tokens; the difference is new text.

    Args:
        tokenizer: Decodes the window.
        prompt_ids: What stands before the output. Tokens at its end that are half a character are held, for
            the output to complete it.
    """

    def __init__(self, tokenizer: Tokenizer, prompt_ids: Sequence[int] = ()) -> None:
        self._tokenizer = tokenizer
        self._context = list(prompt_ids[-_CONTEXT:])
        self._held: list[int] = []
        while self._context and self._decode(self._context).endswith(_REPLACEMENT):
            self._held.insert(0, self._context.pop())
        self._num_prompt_held = len(self._held)

    def push(self, token_id: int) -> str:
        """The new text, or none while its end may be half a character."""
        self._held.append(token_id)
        text = self._new_text()
        if text.endswith(_REPLACEMENT) and len(self._held) < _MAX_HELD:
            return ""
        return self._release(text)

    def flush(self) -> str:
        """All that is held, but for a character that was not completed."""
        num_bytes = len(unfinished_tail(self._tokenizer, self._held))
        while num_bytes > 0:
            num_bytes -= len(self._tokenizer.token_bytes(self._held.pop()))
        return self._release(self._new_text())

    def _new_text(self) -> str:
        before = self._decode(self._context)
        return self._decode([*self._context, *self._held])[len(before) :]

    def _release(self, text: str) -> str:
        """Let go of all that is held; what the prompt left unfinished is not shown."""
        foreign = text[: self._num_prompt_held]
        text = foreign.lstrip(_REPLACEMENT) + text[self._num_prompt_held :]
        self._context = [*self._context, *self._held][-_CONTEXT:]
        self._held = []
        self._num_prompt_held = 0
        return text

    def _decode(self, token_ids: list[int]) -> str:
        return self._tokenizer.decode(token_ids, skip_special_tokens=False)
