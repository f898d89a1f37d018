"""The blocks of the KV pool: how many own each, which are free, and which can be found by their content."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class BlockPool:
    """Blocks 1 to ``num_blocks``; block 0 is nobody's, so that padding can point somewhere.

    A block with a key holds what its key says. Without owners it is free, but can still be found until it is
    taken for something else: the free blocks are a queue, at its front those without a key, then those with
    one, the least recently used first.
    """

    def __init__(self, num_blocks: int) -> None:
        self.num_blocks = num_blocks
        self._num_owners = [0] * (num_blocks + 1)
        self._free = OrderedDict.fromkeys(range(1, num_blocks + 1))
        self._key_of: dict[int, bytes] = {}
        self._by_key: dict[bytes, int] = {}

    @property
    def num_free(self) -> int:
        """Blocks without an owner."""
        return len(self._free)

    def find(self, key: bytes) -> int | None:
        """The block that holds what ``key`` says."""
        return self._by_key.get(key)

    def count_free(self, blocks: Iterable[int]) -> int:
        """How many of ``blocks`` have no owner."""
        return sum(block in self._free for block in blocks)

    def take(self) -> int:
        """The first free block, for new content: it loses its key and gets its one owner."""
        block, _ = self._free.popitem(last=False)
        self._forget(block)
        self._num_owners[block] = 1
        return block

    def share(self, block: int) -> None:
        """One more owns the block, which has a key."""
        self._num_owners[block] += 1
        self._free.pop(block, None)

    def give_back(self, block: int) -> None:
        """One less owns the block."""
        self._num_owners[block] -= 1
        if self._num_owners[block] == 0:
            self._free[block] = None
            self._free.move_to_end(block, last=block in self._key_of)

    def publish(self, block: int, key: bytes) -> None:
        """From now on the block is found by ``key``, unless another with the same content is already."""
        if self._by_key.setdefault(key, block) == block:
            self._key_of[block] = key

    def forget_all(self) -> None:
        """No block is found any more; owners keep theirs."""
        self._by_key.clear()
        self._key_of.clear()

    def num_owners(self, block: int) -> int:
        """How many own the block."""
        return self._num_owners[block]

    def key_of(self, block: int) -> bytes | None:
        """The key by which the block is found."""
        return self._key_of.get(block)

    def check_invariants(self) -> None:
        """Raise ``AssertionError`` if the state contradicts itself. For tests."""
        blocks = range(1, self.num_blocks + 1)
        assert set(self._free) == {block for block in blocks if not self._num_owners[block]}, (
            "free is what nobody owns"
        )
        assert min(self._num_owners) >= 0, "a block was given back too often"
        assert self._num_owners[0] == 0, "block 0 is nobody's"
        assert self._by_key == {key: block for block, key in self._key_of.items()}, "keys and blocks disagree"
        keyless = [block not in self._key_of for block in self._free]
        assert keyless == sorted(keyless, reverse=True), "a block with a key would go before one without"

    def _forget(self, block: int) -> None:
        key = self._key_of.pop(block, None)
        if key is not None:
            del self._by_key[key]
