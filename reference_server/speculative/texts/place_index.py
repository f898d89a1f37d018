"""Where in a store of tokens the same tokens went before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence as SequenceOf

KEY_LENGTHS: Final = (8, 3, 1)
"""So many last tokens are looked up by hash, the most first."""
MAX_PLACES = 16
"""Places of a text that are looked at, the latest: enough to tell what is likely."""
SEPARATOR: Final = -1
"""Stands where no text is; like no token."""
_NOTHING: Final = -2

Context = NDArray[np.int32]


def context_of(token_ids: SequenceOf[int], max_length: int) -> Context:
    """The last tokens backwards, ``[max_length + 1]``, filled up with what is like no token."""
    last = token_ids[-max_length:]
    return np.array([*reversed(last), *[_NOTHING] * (max_length + 1 - len(last))], np.int32)


def key_of(token_ids: SequenceOf[int]) -> int:
    """A hash of tokens; that of whole numbers is the same in every process."""
    return hash(tuple(token_ids))


class PlaceIndex:
    """A ring of tokens and, for each length of a key, chains of the places that stood behind the same hash.

    A place is the number of a token, from ``capacity`` on and ever growing; its last bits are its slot. Who
    writes sees to it that no text reaches over the end of the ring and that its last slot stays empty. 52
    bytes a slot.

    Args:
        capacity: Tokens; a power of two.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._mask = capacity - 1
        self._tokens: NDArray[np.int32] = np.full(capacity, SEPARATOR, np.int32)
        self._view = self._tokens.data
        self._chains = {
            length: (np.zeros(capacity, np.int64).data, np.zeros(capacity, np.int64).data)
            for length in KEY_LENGTHS
        }

    def write(self, place: int, token_ids: SequenceOf[int]) -> None:
        """Store tokens from a place on."""
        slot = place & self._mask
        self._tokens[slot : slot + len(token_ids)] = token_ids

    def index(self, begin: int, text: SequenceOf[int], first: int) -> None:
        """Let places of a text be found, each once and in order.

        Args:
            begin: Place of its first token.
            text: All of it.
            first: Tokens before this one are skipped.
        """
        mask = self._mask
        for length, (newest, older) in self._chains.items():
            for number in range(max(first, length), len(text)):
                slot = key_of(text[number - length : number]) & mask
                older[(begin + number) & mask] = newest[slot]
                newest[slot] = begin + number

    def find(self, length: int, key: int, context: Context, oldest: int) -> list[tuple[int, int]]:
        """The latest places behind a key, the last first, and how much of the context stood before each.

        Args:
            length: Of the key, one of ``KEY_LENGTHS``.
            key: Of the last tokens.
            context: From :func:`context_of`.
            oldest: Places before it count no more.
        """
        places = self._chain(length, key, oldest)
        if not places:
            return []
        shared = self._num_shared(places, context)
        return [pair for pair in zip(places, shared, strict=True) if pair[1] >= length]

    def read(self, place: int, count: int) -> list[int]:
        """So many tokens from a place on; less at the end of the ring."""
        slot = place & self._mask
        return self._view[slot : slot + count].tolist()

    def _chain(self, length: int, key: int, oldest: int) -> list[int]:
        newest, older = self._chains[length]
        place, found = newest[key & self._mask], list[int]()
        while place >= oldest and len(found) < MAX_PLACES:
            found.append(place)
            place = older[place & self._mask]
        return found

    def _num_shared(self, places: list[int], context: Context) -> list[int]:
        """Tokens before each place that are those of the context."""
        slots = (np.array(places)[:, None] - np.arange(1, len(context) + 1)) & self._mask
        before = self._tokens.take(slots)
        shared: list[int] = (before == context).argmin(axis=1).tolist()
        return shared
