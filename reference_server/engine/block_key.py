"""Names of blocks by content, so that equal beginnings of prompts can be found.

A block's key digests the key of the block before it and its own tokens, so it stands for all tokens up to
its end. The first key digests the salt. With 256 bits of BLAKE2b, two prefixes share a key neither by chance
nor by design.
"""

from __future__ import annotations

from array import array
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reference_server.engine.sequence import Sequence

KEY_BYTES = 32


def block_keys(sequence: Sequence, num_blocks: int, block_size: int) -> list[bytes]:
    """Keys of at least the first ``num_blocks`` blocks, whose tokens are all known; remembered there."""
    keys = sequence.block_keys
    while len(keys) < num_blocks:
        start = len(keys) * block_size
        parent = keys[-1] if keys else _root(sequence.cache_salt)
        keys.append(_digest(parent, sequence.token_ids[start : start + block_size]))
    return keys


def _root(cache_salt: str | None) -> bytes:
    """What comes before the first block: one for all without a salt, one for each salt."""
    salt = b"" if cache_salt is None else b"salt:" + cache_salt.encode(errors="surrogatepass")
    return blake2b(salt, digest_size=KEY_BYTES).digest()


def _digest(parent: bytes, token_ids: list[int]) -> bytes:
    return blake2b(parent + array("q", token_ids).tobytes(), digest_size=KEY_BYTES).digest()
