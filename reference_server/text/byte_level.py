"""The alphabet of byte-level vocabularies: every byte has a printable character that stands for it.

Defined by GPT-2: printable Latin-1 characters stand for themselves, the other bytes for U+0100 onwards.
"""

from __future__ import annotations


def _alphabet() -> dict[str, int]:
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = (value for value in range(256) if value not in printable)
    return {chr(value): value for value in printable} | {
        chr(256 + n): value for n, value in enumerate(others)
    }


BYTE_OF = _alphabet()
"""The byte that a character of a token's name stands for."""


def name_to_bytes(name: str) -> bytes:
    """The bytes of a token by its name in the vocabulary; a name outside the alphabet is taken as text."""
    try:
        return bytes([BYTE_OF[character] for character in name])
    except KeyError:
        return name.encode()
