"""A text that grows, and what followed its last tokens before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.speculative.texts.place_index import PlaceIndex

if TYPE_CHECKING:
    from reference_server.speculative.texts.place_index import Context

_MIN_CAPACITY = 512


class GrowingText:
    """Of one sequence."""

    def __init__(self) -> None:
        self._index = PlaceIndex(_MIN_CAPACITY)
        self._token_ids: list[int] = []
        self._num_known = 0

    def take(self, token_ids: list[int]) -> None:
        """Learn a text of which the beginning is known already."""
        self._token_ids = token_ids
        if len(token_ids) >= self._index.capacity:
            self._index = PlaceIndex(1 << (2 * len(token_ids)).bit_length())
            self._num_known = 0
        begin, known = self._index.capacity, self._num_known
        self._index.write(begin + known, token_ids[known:])
        self._index.index(begin, token_ids, known)
        self._num_known = len(token_ids)

    def find(self, length: int, key: int, context: Context, count: int) -> list[tuple[int, list[int]]]:
        """How much of the context stood at earlier places, and ``count`` tokens that followed.

        Past the end what followed goes on with itself, as in a loop.
        """
        begin = self._index.capacity
        found = self._index.find(length, key, context, begin)
        return [(shared, self._following(place - begin, count)) for place, shared in found]

    def _following(self, number: int, count: int) -> list[int]:
        following = self._token_ids[number : number + count]
        period = len(following)
        if period == count:
            return following
        return following + [following[extra % period] for extra in range(count - period)]
