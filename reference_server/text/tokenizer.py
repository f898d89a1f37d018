"""The tokenizer of a model, whatever it was read from."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Tokenizer(abc.ABC):
    """Text to token ids and back.

    Attributes:
        vocab_size: Number of token ids.
        bos_token_id: Begins a text; None if the model has none.
        eos_token_id: Ends one; None if the model has none.
        is_byte_level: The text of a sequence is the UTF-8 decoding of its tokens' bytes, one after another.
    """

    vocab_size: int
    bos_token_id: int | None = None
    eos_token_id: int | None = None
    is_byte_level: bool = True

    @abc.abstractmethod
    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """Token ids of ``text``.

        Names of special tokens inside it become those tokens. A lone surrogate, which is no character, counts
        as U+FFFD.

        Args:
            text: Any string.
            add_special_tokens: Put in front and behind what the model was trained with, if anything.
        """

    @abc.abstractmethod
    def decode(self, token_ids: Iterable[int], *, skip_special_tokens: bool = True) -> str:
        """The text of a whole sequence; bytes that are no UTF-8 become U+FFFD. Unknown ids have no text."""

    @abc.abstractmethod
    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of a token alone, which may be part of a character."""

    @abc.abstractmethod
    def is_special(self, token_id: int) -> bool:
        """Whether a token marks structure and is no text."""

    def token_text(self, token_id: int) -> str:
        """The text of a token alone; parts of characters show as U+FFFD."""
        return self.token_bytes(token_id).decode(errors="replace")


def well_formed(text: str) -> str:
    """``text`` with surrogate pairs joined and lone surrogates replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
