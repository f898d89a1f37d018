"""``ngram``, prompt lookup: what followed the last tokens when they stood in the sequence before.

Right where an answer repeats its prompt or itself: rewriting, extracting, code, tables. It costs no model and
next to no time. The idea is Saxena's (Prompt Lookup Decoding, 2023).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from reference_server.speculative import LookupConfig, Proposer, SpeculativeConfigError, check_count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reference_server.engine.sequence import Sequence

_DEFAULT_LENGTH, _MAX_LENGTH = 5, 64


@dataclass(frozen=True, kw_only=True)
class NgramConfig(LookupConfig):
    """Keys of the method. Of the two lengths one that is left out is as the other; without both both are 5.

    Attributes:
        prompt_lookup_max: Tokens that are looked up at first.
        prompt_lookup_min: Where those were not found one fewer is looked up, down to so many.
    """

    prompt_lookup_max: int | None = None
    prompt_lookup_min: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for key in ("prompt_lookup_max", "prompt_lookup_min"):
            if getattr(self, key) is not None:
                check_count(key, getattr(self, key), _MAX_LENGTH)
        shortest, longest = self.lengths
        if shortest > longest:
            raise SpeculativeConfigError(
                f"prompt_lookup_min is {shortest}, more than prompt_lookup_max, {longest}"
            )

    @property
    def lengths(self) -> tuple[int, int]:
        """The shortest and the longest n-gram that is looked up."""
        longest = self.prompt_lookup_max or self.prompt_lookup_min or _DEFAULT_LENGTH
        return self.prompt_lookup_min or longest, longest

    def make_proposer(self) -> Proposer:
        """See :class:`~reference_server.speculative.LookupConfig`."""
        return NgramProposer(*self.lengths)

    def describe_guess(self) -> str:
        """See :class:`~reference_server.speculative.SpeculativeConfig`."""
        shortest, longest = self.lengths
        return f"after {shortest} to {longest} that repeat"


class NgramProposer(Proposer):
    """Continues the last tokens as they were continued before: the most, and of equally many the latest.

    Args:
        min_length: Tokens that must be found again.
        max_length: Tokens that are looked for at most.
    """

    def __init__(self, min_length: int, max_length: int) -> None:
        self._lengths = range(min_length, max_length + 1)
        self._indexes: WeakKeyDictionary[Sequence, _Index] = WeakKeyDictionary()

    def propose(self, limits: Mapping[Sequence, int]) -> dict[Sequence, list[int]]:
        """See :class:`~reference_server.speculative.Proposer`."""
        drafts = {}
        for sequence, limit in limits.items():
            if sequence not in self._indexes:
                self._indexes[sequence] = _Index(self._lengths)
            place = self._indexes[sequence].find(sequence.token_ids)
            if place is not None:
                drafts[sequence] = _copy(sequence.token_ids, place, limit)
        return drafts


class _Index:
    """Where each n-gram of a sequence that only grows was last followed by a token."""

    def __init__(self, lengths: range) -> None:
        self._lengths = lengths
        self._followers: dict[tuple[int, ...], int] = {}
        self._num_known = 1

    def find(self, token_ids: list[int]) -> int | None:
        """The place after an earlier occurrence of the last tokens; None if there was none."""
        self._take(token_ids)
        for length in reversed(self._lengths):
            place = self._followers.get(tuple(token_ids[-length:]))
            if place is not None:
                return place
        return None

    def _take(self, token_ids: list[int]) -> None:
        for place in range(self._num_known, len(token_ids)):
            for length in self._lengths:
                if length <= place:
                    self._followers[tuple(token_ids[place - length : place])] = place
        self._num_known = len(token_ids)


def _copy(token_ids: list[int], place: int, count: int) -> list[int]:
    """``count`` tokens from ``place`` on; past the end it goes on with what was copied, as in a loop."""
    period = len(token_ids) - place
    return [token_ids[place + number % period] for number in range(count)]


CONFIG = NgramConfig
