"""One token per byte: the tokenizer of the model ``tiny-random``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.text.tokenizer import Tokenizer, well_formed

if TYPE_CHECKING:
    from collections.abc import Iterable

BOS, EOS, FIRST_BYTE, VOCAB_SIZE = 0, 1, 2, 512


class ByteTokenizer(Tokenizer):
    """0 begins a text, 1 ends it, 2 to 257 are the bytes 0 to 255, the rest has no text."""

    vocab_size = VOCAB_SIZE
    bos_token_id = BOS
    eos_token_id = EOS

    def __init__(self) -> None:
        one_byte_each = [bytes([value]) for value in range(256)]
        self._bytes = [b"<bos>", b"<eos>", *one_byte_each]

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """``<bos>`` if asked for, then the bytes of the text. No text stands for a special token."""
        token_ids = [FIRST_BYTE + value for value in well_formed(text).encode()]
        return [BOS, *token_ids] if add_special_tokens else token_ids

    def decode(self, token_ids: Iterable[int], *, skip_special_tokens: bool = True) -> str:
        """The text of the bytes."""
        kept = (i for i in token_ids if not (skip_special_tokens and self.is_special(i)))
        return b"".join(map(self.token_bytes, kept)).decode(errors="replace")

    def token_bytes(self, token_id: int) -> bytes:
        """One byte, or the name of a special token, or nothing."""
        return self._bytes[token_id] if 0 <= token_id < len(self._bytes) else b""

    def is_special(self, token_id: int) -> bool:
        """``<bos>`` and ``<eos>``."""
        return token_id in (BOS, EOS)
