"""Which sequence owns which blocks of the KV pool, and which blocks it can take over from others."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from reference_server.engine.block_key import block_keys
from reference_server.engine.block_pool import BlockPool

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence as SequenceOf

    from reference_server.engine.sequence import Sequence


class BlockManager:
    """Block tables, and the prefix cache.

    A table only grows, until its sequence gives all of it back. Only full blocks are shared, so what is still
    written to has one owner.

    Args:
        num_blocks: Blocks of the pool.
        block_size: Tokens a block holds.
        enable_prefix_caching: Blocks with equal content are computed once.
    """

    def __init__(self, num_blocks: int, block_size: int, *, enable_prefix_caching: bool = True) -> None:
        self.num_blocks = num_blocks
        self.block_size = block_size
        self.enable_prefix_caching = enable_prefix_caching
        self._pool = BlockPool(num_blocks)

    @property
    def num_free_blocks(self) -> int:
        """Blocks that no sequence owns, those of the prefix cache among them."""
        return self._pool.num_free

    def looks_up(self, sequence: Sequence) -> bool:
        """Whether ``sequence`` may take over what others have computed."""
        return self.enable_prefix_caching and not sequence.lacks_prompt_scores

    def find_prefix(self, sequence: Sequence) -> list[int]:
        """Blocks that hold the beginning of ``sequence``: all but its last token at most.

        The last one is computed in any case, because the next token is chosen from its logits; and all, if
        those of the whole prompt are wanted.
        """
        found: list[int] = []
        if self.looks_up(sequence):
            num_blocks = (sequence.num_tokens - 1) // self.block_size
            for key in block_keys(sequence, num_blocks, self.block_size)[:num_blocks]:
                block = self._pool.find(key)
                if block is None:
                    break
                found.append(block)
        return found

    def is_prefix_under_way(self, sequence: Sequence, num_found: int, running: Iterable[Sequence]) -> bool:
        """Whether a prefill among ``running`` is about to compute the block after those that were found.

        Then it is better to wait for it than to compute the same beside it.
        """
        if not self.looks_up(sequence) or num_found >= (sequence.num_tokens - 1) // self.block_size:
            return False
        key = sequence.block_keys[num_found]
        return any(
            other.num_uncomputed_tokens > 1
            and other.num_published_blocks <= num_found < len(other.block_keys)
            and other.block_keys[num_found] == key
            for other in running
        )

    def num_missing_blocks(self, sequence: Sequence, num_tokens: int) -> int:
        """Blocks that ``sequence`` must still get before its table covers ``num_tokens``."""
        return max(0, -(-num_tokens // self.block_size) - len(sequence.block_table))

    def can_grow(
        self, sequence: Sequence, num_tokens: int, *, prefix: SequenceOf[int] = (), keep_free: int = 0
    ) -> bool:
        """Whether the table, with ``prefix`` taken over, can be made to cover ``num_tokens``.

        Args:
            sequence: Whose table.
            num_tokens: To be covered.
            prefix: Found by :meth:`find_prefix`.
            keep_free: Blocks that must be left over.
        """
        missing = self.num_missing_blocks(sequence, num_tokens) - len(prefix)
        return missing <= 0 or missing + keep_free <= self._pool.num_free - self._pool.count_free(prefix)

    def take_over(self, sequence: Sequence, prefix: SequenceOf[int]) -> None:
        """Begin an empty table with blocks that hold the beginning already."""
        for block in prefix:
            self._pool.share(block)
        sequence.block_table.extend(prefix)
        sequence.num_published_blocks = len(prefix)
        sequence.num_computed_tokens = len(prefix) * self.block_size

    def grow(self, sequence: Sequence, num_tokens: int) -> None:
        """Append blocks until the table covers ``num_tokens``. The caller has asked :meth:`can_grow`."""
        for _ in range(self.num_missing_blocks(sequence, num_tokens)):
            sequence.block_table.append(self._pool.take())

    def publish(self, sequence: Sequence, num_tokens: int) -> None:
        """Let others find the full blocks among the first ``num_tokens``.

        Nothing may come between this and the step that computes them. Others may find them in the same step:
        in each layer a step stores all keys and values before any query attends.
        """
        end = num_tokens // self.block_size
        first = sequence.num_published_blocks
        if end <= first or not self.enable_prefix_caching:
            return
        keys = block_keys(sequence, end, self.block_size)
        for index in range(first, end):
            self._pool.publish(sequence.block_table[index], keys[index])
        sequence.num_published_blocks = end

    def release(self, sequence: Sequence) -> None:
        """Take all blocks back, the last first: the beginning is what others are likeliest to share."""
        for block in reversed(sequence.block_table):
            self._pool.give_back(block)
        sequence.block_table.clear()
        sequence.num_published_blocks = 0

    def reset_prefix_cache(self) -> None:
        """Let nothing computed so far be found again. Sequences keep what they have taken over."""
        self._pool.forget_all()

    def check_invariants(self, sequences: Iterable[Sequence]) -> None:
        """Raise ``AssertionError`` if the state contradicts itself. For tests; call between steps.

        Args:
            sequences: All that live.
        """
        self._pool.check_invariants()
        places: Counter[int] = Counter()
        for sequence in sequences:
            places.update(sequence.block_table)
            assert len(set(sequence.block_table)) == len(sequence.block_table), "a table holds a block twice"
            self._check_contents(sequence)
        for block in range(self.num_blocks + 1):
            assert self._pool.num_owners(block) == places[block], f"block {block}: owners and tables disagree"

    def _check_contents(self, sequence: Sequence) -> None:
        num_full = sequence.num_computed_tokens // self.block_size
        keys = block_keys(sequence, num_full, self.block_size)
        assert sequence.num_published_blocks <= num_full, "a block was published before it was full"
        for index, block in enumerate(sequence.block_table):
            key = self._pool.key_of(block)
            if index < num_full:
                assert key in (None, keys[index]), f"{sequence}: a block is found by a wrong key"
            else:
                assert self._pool.num_owners(block) == 1, f"{sequence} writes to a block that others own"
                assert key is None, f"{sequence}: a block that is not full can be found"
