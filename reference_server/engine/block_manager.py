"""Who owns which block of the KV pool."""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reference_server.engine.sequence import Sequence


class BlockManager:
    """Hands out blocks 1 to ``num_blocks``; block 0 is nobody's, so that padding can point somewhere."""

    def __init__(self, num_blocks: int, block_size: int) -> None:
        self.num_blocks = num_blocks
        self.block_size = block_size
        self._free = deque(range(1, num_blocks + 1))

    @property
    def num_free_blocks(self) -> int:
        """Blocks that no sequence owns."""
        return len(self._free)

    def num_missing_blocks(self, sequence: Sequence, num_tokens: int) -> int:
        """Blocks that ``sequence`` must still get before its table covers ``num_tokens``."""
        return max(0, -(-num_tokens // self.block_size) - len(sequence.block_table))

    def can_grow(self, sequence: Sequence, num_tokens: int, *, keep_free: int = 0) -> bool:
        """Whether the table can be made to cover ``num_tokens`` with ``keep_free`` blocks left over."""
        missing = self.num_missing_blocks(sequence, num_tokens)
        return missing == 0 or missing + keep_free <= len(self._free)

    def grow(self, sequence: Sequence, num_tokens: int) -> None:
        """Append blocks until the table covers ``num_tokens``. The caller has asked :meth:`can_grow`."""
        for _ in range(self.num_missing_blocks(sequence, num_tokens)):
            sequence.block_table.append(self._free.popleft())

    def release(self, sequence: Sequence) -> None:
        """Take all blocks back, the last first; they can be handed out again at once."""
        self._free.extend(reversed(sequence.block_table))
        sequence.block_table.clear()

    def check_invariants(self, owners: Iterable[Sequence]) -> None:
        """Raise ``AssertionError`` unless every block is free or owned once, by one of ``owners``."""
        places = Counter(self._free)
        for sequence in owners:
            places.update(sequence.block_table)
        assert places == Counter(range(1, self.num_blocks + 1)), "a block is lost, or owned twice"
