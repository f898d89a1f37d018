"""How often guessed tokens come true."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence as SequenceOf

_MEMORY = 16
_COMMON_MEMORY = 128
_COMMON_WEIGHT = 2.0


class Share:
    """Of the last trials, about so many, those that went well.

    Args:
        memory: Trials that count; older ones fade.
    """

    def __init__(self, memory: int) -> None:
        self._keep = 1 - 1 / memory
        self._hits, self._trials = 0.0, 0.0

    def add(self, *, hit: bool) -> None:
        """Take note of a trial."""
        self._hits = self._hits * self._keep + hit
        self._trials = self._trials * self._keep + 1

    def value(self, expected: float) -> float:
        """The share, 0 to 1, where what was expected counts as much as two trials."""
        return (self._hits + _COMMON_WEIGHT * expected) / (self._trials + _COMMON_WEIGHT)


class Shares:
    """Two of them: guesses right in their first token, and in one more where all before it were right."""

    def __init__(self, memory: int) -> None:
        self.first, self.later = Share(memory), Share(memory)


def common_shares() -> Shares:
    """For all sequences together: what is to be expected of a new one."""
    return Shares(_COMMON_MEMORY)


class Agreement:
    """Of one sequence.

    A guess is held against the tokens that come, whether or not any of it was verified as a draft. So it
    costs nothing to learn that guesses have become good again.

    Args:
        common: Learns along.
    """

    def __init__(self, common: Shares) -> None:
        self._own, self._common = Shares(_MEMORY), common
        self._guess: SequenceOf[int] = ()
        self._place = 0

    def guess(self, tokens: SequenceOf[int]) -> None:
        """Take a guess, unless the last one is still open."""
        if self._place == len(self._guess):
            self._guess, self._place = tokens, 0

    def judge(self, tokens: SequenceOf[int]) -> None:
        """Hold the open guess against the tokens that came."""
        for token in tokens:
            if self._place == len(self._guess):
                return
            hit = token == self._guess[self._place]
            for shares in (self._own, self._common):
                (shares.later if self._place else shares.first).add(hit=hit)
            self._place = self._place + 1 if hit else len(self._guess)

    def chances(self, length: int) -> list[float]:
        """For each token of a guess, how likely it is that it and all before it come true."""
        first = self._own.first.value(self._common.first.value(0.5))
        later = self._own.later.value(self._common.later.value(0.5))
        return [first * later**place for place in range(length)]
