"""Texts that have ended, the oldest forgotten, and what followed the same tokens in them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from reference_server.speculative.texts.place_index import SEPARATOR, PlaceIndex

if TYPE_CHECKING:
    from reference_server.speculative.texts.place_index import Context

DEFAULT_CAPACITY: Final = 1 << 20
"""Tokens, in 52 MiB."""


class PastTexts:
    """Whole texts, each with a separator behind it, in a ring.

    Args:
        max_texts: Texts at most.
        capacity: Slots for their tokens and separators; a power of two.
    """

    def __init__(self, max_texts: int, capacity: int = DEFAULT_CAPACITY) -> None:
        self._max_texts = max_texts
        self._index = PlaceIndex(capacity)
        self._starts: deque[int] = deque()
        self._end = capacity

    def __len__(self) -> int:
        return len(self._starts)

    def add(self, text: list[int], num_context: int) -> None:
        """Remember a text, unless it alone is more than all that can be held.

        Args:
            text: Its tokens.
            num_context: Of these at the beginning, what is no guess and only stands before one.
        """
        size = len(text) + 1
        if size >= self._index.capacity or not self._max_texts:
            return
        start = self._room_for(size)
        self._forget_for(start + size)
        self._starts.append(start)
        self._end = start + size
        self._index.write(start, [*text, SEPARATOR])
        self._index.index(start, text, num_context)

    def find(self, length: int, key: int, context: Context, count: int) -> list[tuple[int, list[int]]]:
        """How much of the context stood in them, and up to ``count`` tokens that followed.

        Where a text ended stands ``SEPARATOR``; what is behind it has nothing to do with it.
        """
        oldest = self._starts[0] if self._starts else self._end
        found = self._index.find(length, key, context, oldest)
        return [(shared, self._index.read(place, count)) for place, shared in found]

    def _room_for(self, size: int) -> int:
        """Where a text begins that does not reach over the end of the ring, nor to its last slot."""
        capacity = self._index.capacity
        if self._end % capacity + size < capacity:
            return self._end
        return (self._end // capacity + 1) * capacity

    def _forget_for(self, end: int) -> None:
        """Forget the oldest, whose slots are taken by what comes before ``end`` or who are one too many."""
        starts = self._starts
        while starts and (starts[0] < end - self._index.capacity or len(starts) >= self._max_texts):
            starts.popleft()
