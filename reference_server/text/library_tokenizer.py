"""A tokenizer that runs in the ``tokenizers`` library."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from reference_server.text.byte_level import name_to_bytes
from reference_server.text.tokenizer import Tokenizer, well_formed

if TYPE_CHECKING:
    from collections.abc import Iterable

    import tokenizers

_BYTE_NAME = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_SENTENCEPIECE_SPACE = "\u2581"


class LibraryTokenizer(Tokenizer):
    """Wraps a tokenizer of the library; decodes byte-level vocabularies by a table instead.

    Args:
        library: Does the encoding.
        bos_token_id: As in the base class.
        eos_token_id: As in the base class.
        add_bos: Put the begin token in front where special tokens are asked for; for vocabularies whose
            library form does not do it by itself.
    """

    def __init__(
        self,
        library: tokenizers.Tokenizer,
        *,
        bos_token_id: int | None = None,
        eos_token_id: int | None = None,
        add_bos: bool = False,
    ) -> None:
        self._library = library
        self._prefix = [bos_token_id] if add_bos and bos_token_id is not None else []
        self.bos_token_id, self.eos_token_id = bos_token_id, eos_token_id
        self.is_byte_level = _is_byte_level(library)
        added = library.get_added_tokens_decoder()
        self._special = frozenset(token_id for token_id, token in added.items() if token.special)
        self._bytes = _byte_table(library, self.is_byte_level)
        self.vocab_size = len(self._bytes)

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """As the library does."""
        encoded = self._library.encode(well_formed(text), add_special_tokens=add_special_tokens)
        return [*self._prefix, *encoded.ids] if add_special_tokens else encoded.ids

    def decode(self, token_ids: Iterable[int], *, skip_special_tokens: bool = True) -> str:
        """By the table for byte-level vocabularies, by the library for others."""
        kept = [i for i in token_ids if not (skip_special_tokens and i in self._special)]
        if self.is_byte_level:
            return b"".join(map(self.token_bytes, kept)).decode(errors="replace")
        return self._library.decode(kept, skip_special_tokens=False)

    def token_bytes(self, token_id: int) -> bytes:
        """From the table."""
        return self._bytes[token_id] if 0 <= token_id < self.vocab_size else b""

    def is_special(self, token_id: int) -> bool:
        """As the vocabulary says."""
        return token_id in self._special


def _is_byte_level(library: tokenizers.Tokenizer) -> bool:
    return type(library.decoder).__name__ == "ByteLevel"


def _byte_table(library: tokenizers.Tokenizer, is_byte_level: bool) -> list[bytes]:
    """Bytes by token id. Added tokens are text as they stand; gaps between ids have none."""
    convert = name_to_bytes if is_byte_level else _piece_to_bytes
    by_name = library.get_vocab(with_added_tokens=True)
    table = [b""] * (1 + max(by_name.values(), default=-1))
    for name, token_id in by_name.items():
        table[token_id] = convert(name)
    for token_id, token in library.get_added_tokens_decoder().items():
        table[token_id] = token.content.encode()
    return table


def _piece_to_bytes(name: str) -> bytes:
    if byte := _BYTE_NAME.fullmatch(name):
        return bytes.fromhex(byte[1])
    return name.replace(_SENTENCEPIECE_SPACE, " ").encode()
